"""output_schema: for models that cannot combine a response schema with tools, the answer is a tool call.

Specified in docs/reference/behaviour.md#output-schema.
"""

from __future__ import annotations

import json
from operator import attrgetter
from typing import TYPE_CHECKING

from pydantic import BaseModel

from newel.contexts.context import Context
from newel.contexts.invocation_context import full_invocation
from newel.flows.llm_agents import LlmContext, request_processor
from newel.tools.set_model_response_tool import SetModelResponseTool
from newel.tools.structured_output import GIVEN_ANSWERS, VALID_ANSWERS, Settings, is_invalid
from newel_kernel import Event, InvocationContext, LlmRequest, RequestProcessor, ResultProcessor, hookimpl
from newel_types import Content, Part

if TYPE_CHECKING:
    from newel.agents.llm_agent import LlmAgent

_INSTRUCTION = (
    "IMPORTANT: You have access to other tools, but you must provide your final response using the "
    "set_model_response tool with the required structured format. After using any other tools needed to complete "
    "the task, always call set_model_response with your final answer in the specified schema format."
)


_CORRECTION = (
    "Your answer does not fit the required output schema: {problems}\n"
    "Answer again, with one JSON value that fits the schema and nothing else."
)


async def before(ctx: LlmContext, request: LlmRequest) -> None:
    """Declare set_model_response and say that the answer goes there; tell what was wrong with the last answer."""
    agent = ctx.agent
    if (problems := _problems(ctx)) is not None:
        text = _CORRECTION.format(problems=problems)
        request.contents.append(Content(role="user", parts=[Part(text=text)]))
    if ctx.mode is not None:  # the conversation has no final answer
        return
    if not agent.tools or agent.__newel__.model_for(ctx).capabilities.output_schema_with_tools:
        return
    tool = SetModelResponseTool(agent.output_schema)
    await tool.process_llm_request(tool_context=Context(full_invocation(ctx)), llm_request=request)
    request.append_instructions([_INSTRUCTION])


def _problems(ctx: LlmContext) -> str | None:
    """What is wrong with the agent's last answer in this invocation; None if there is nothing."""
    for event in reversed(ctx.session.events):
        if event.invocation_id != ctx.invocation_id or event.author == "user":
            return None
        if event.author == ctx.agent.name and event.branch == ctx.branch:
            return event.error_message if is_invalid(event) else None
    return None


async def after(ctx: InvocationContext, call_event: Event, result_event: Event) -> list[Event] | None:
    """If the answer was given, it becomes the agent's final message: the JSON that the model gave."""
    actions = result_event.touched_actions
    if actions is None or actions.set_model_response is None:
        return None
    answers = ctx.stash.get(GIVEN_ANSWERS, None) or {}
    found = [answers.pop(response.id, None) for response in result_event.get_function_responses()]
    answer = next(filter(None, found), None)
    text = json.dumps(actions.set_model_response if answer is None else answer.given, ensure_ascii=False)
    event = Event(
        invocation_id=ctx.invocation_id,
        author=ctx.agent.name,
        branch=ctx.branch,
        content=Content(role="model", parts=[Part(text=text)]),
    )
    if answer is not None:
        ctx.stash[VALID_ANSWERS][event.id] = answer.answer
    return [event]


def applies_to(agent: LlmAgent) -> bool:
    """Only for an agent with a schema; `before` checks whether it has tools: the list may grow in place.

    A task agent answers through finish_task.
    """
    return agent.output_schema is not None and agent.mode != "task"


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_request_processors() -> list[RequestProcessor]:
    """The request processor `output_schema`."""
    return [request_processor("output_schema", before, applies_to=applies_to)]


@hookimpl
def register_result_processors() -> list[ResultProcessor]:
    """The result processor `output_schema`, after the results."""
    return [ResultProcessor(name="output_schema", run=after, applies_to=attrgetter("touched_actions"), follows=True)]
