"""finish_task: the tool by which a task agent ends its task with a result."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Protocol

from pydantic import BaseModel, TypeAdapter, ValidationError

from newel.agents.llm.task._task_models import _DefaultTaskOutput
from newel.contexts.model_data import ModelData, carried, has_models
from newel.tools.structured_output import validated_json
from newel_kernel import BaseTool, Context, Event, InvocationContext, Json, LlmRequest, Log
from newel_types import FunctionDeclaration, FunctionResponse

FINISH_TASK_TOOL_NAME = "finish_task"
FINISH_TASK_SUCCESS_RESULT = "The task is finished."
_WRAPPER_KEY = "result"
_INSTRUCTION = (
    "Do NOT call `finish_task` prematurely. Use your available tools to fully complete every aspect of the delegated "
    "task first. If the task leaves something open that only the user knows, ask the user. When everything is "
    "done, call `finish_task`, alone and without any other text."
)


class TaskAgent(Protocol):
    """The part of its agent that the tool needs."""

    @property
    def output_schema(self) -> object:
        """The schema that its result must fit; None: a text."""


class FinishTaskTool(BaseTool):
    """`finish_task`: its parameters are the fields of the agent's output schema.

    Without a schema it takes `result`, a text; a schema that is not an object becomes the parameter `result`. Arguments
    that do not fit give an error result, so that the model can correct them.
    """

    #: An agent gets it because of its mode, not from its list of tools.
    __newel_of_mode__ = True

    def __init__(self, task_agent: TaskAgent) -> None:
        super().__init__(
            name=FINISH_TASK_TOOL_NAME, description="Finish the delegated task and hand over what came of it."
        )
        schema: Any = task_agent.output_schema
        self.output_schema: Any = _DefaultTaskOutput if schema is None else schema
        self._adapter: TypeAdapter[object] | None = None
        if isinstance(self.output_schema, dict):  # a JSON schema: nothing here checks a value against it
            raw = dict(self.output_schema)
        else:
            self._adapter = TypeAdapter(self.output_schema)
            raw = self._adapter.json_schema()
        self._wrapper_key: str | None = None
        if str(raw.get("type", "")).lower() != "object" and "properties" not in raw:
            self._wrapper_key = _WRAPPER_KEY
            definitions = raw.pop("$defs", None)  # references in it begin at the root
            raw = {"type": "object", "properties": {_WRAPPER_KEY: raw}, "required": [_WRAPPER_KEY]}
            if definitions:
                raw["$defs"] = definitions
        self._declaration = FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=raw
        )

    def _get_declaration(self) -> FunctionDeclaration:
        return self._declaration

    async def process_llm_request(self, *, tool_context: Context, llm_request: LlmRequest) -> None:
        """Declare the tool, and say when to call it."""
        llm_request.append_tools([self])
        llm_request.append_instructions([_INSTRUCTION])

    async def run_async(self, *, args: Json, tool_context: Context) -> str | Json:
        """FINISH_TASK_SUCCESS_RESULT, or an error result that says what is wrong with the arguments."""
        try:
            self.output(args)
        except ValidationError as error:
            return {
                "error": (
                    f"Invoking `{self.name}()` failed due to validation errors:\n{error}\nYou could retry calling "
                    "this tool, but it is IMPORTANT for you to provide all the mandatory parameters with correct types."
                )
            }
        return FINISH_TASK_SUCCESS_RESULT

    def output(self, args: Json) -> object:
        """The value of the arguments: plain data that keeps its model. Raises pydantic's ValidationError."""
        value = args.get(self._wrapper_key) if self._wrapper_key else args
        if self._adapter is None:
            return value
        parsed = validated_json(self._adapter, value)
        if isinstance(parsed, BaseModel):
            return ModelData(parsed, mode="json")
        return carried(parsed) if has_models(parsed) else self._adapter.dump_python(parsed, mode="json", by_alias=True)


async def until_finished(
    ctx: InvocationContext, tool: FinishTaskTool, events: AsyncGenerator[Event, None]
) -> AsyncGenerator[Event, None]:
    """The events of a task agent, up to the event that finishes the task, which gets the `output`."""
    agent_name = ctx.agent.name
    async with aclosing(events):
        async for event in events:
            if event.author != agent_name:  # an event of an agent that works for this one
                yield event
                continue
            done = finishing_response(event)
            if done is not None:  # its call is committed, perhaps by a process that is gone
                asker = Log(ctx.session.events).asker({done.id})
                calls = [call for call in asker.get_function_calls() if call.id == done.id] if asker else []
                if calls:
                    event.output = tool.output(calls[0].args or {})
                    yield event
                    return
            yield event


def finishing_response(event: Event) -> FunctionResponse | None:
    """The result of a successful finish_task among the event's results."""
    for response in event.get_function_responses():
        if response.name == FINISH_TASK_TOOL_NAME and response.response == {"result": FINISH_TASK_SUCCESS_RESULT}:
            return response
    return None
