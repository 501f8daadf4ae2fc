"""What code execution does around a model call: data files and history before it, the code of its answer after it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from newel.code_executors.base_code_executor import BaseCodeExecutor
from newel.code_executors.built_in_code_executor import BuiltInCodeExecutor
from newel.code_executors.code_execution_utils import CodeExecutionUtils
from newel.contexts.context import Context
from newel.contexts.invocation_context import full_invocation
from newel.flows.code_files import explore, take_data_files
from newel.flows.code_runs import Execution
from newel_kernel import ConfigurationError, Event, InvocationContext, LlmRequest, LlmResponse, seam
from newel_types import Content, Part

if TYPE_CHECKING:
    from newel.flows.llm_agents import LlmContext


class Limits(Protocol):
    """The limits of one execution: seconds (None: no limit), and characters of output that the model sees."""

    @property
    def timeout_seconds(self) -> float | None:
        """For executors that have no timeout of their own."""

    @property
    def max_output(self) -> int:
        """What is longer is cut."""

    @property
    def keep_calls(self) -> bool:
        """Whether the tool calls of an answer with code run after the code."""


async def prepare_code(ctx: LlmContext, request: LlmRequest, limits: Limits) -> list[Event] | None:
    """Explore new data files, and write code and results as text, for this model runs nothing itself."""
    executor = _executor(ctx)
    if isinstance(executor, BuiltInCodeExecutor):
        model = ctx.agent.__newel__.model_for(ctx)
        if model.capabilities.code_execution:
            executor.declare(request)
        elif model.networked:
            raise executor.refusal(request.model or model.model)
        else:  # a user's own model, which may stand in for a known one, and have its name
            executor.process_llm_request(request)
        return None
    events: list[Event] = []
    if executor.optimize_data_file:
        execution = _execution(ctx, executor, limits)
        if not execution.exhausted:
            for file in take_data_files(execution.context, request):
                exploration = await explore(execution, file)
                events.extend(exploration)
                request.contents.extend(e.content.model_copy(deep=True) for e in exploration if e.content is not None)
    _write_as_text(executor, request)
    return events


async def run_code(ctx: LlmContext, response: LlmResponse, limits: Limits) -> list[Event] | None:
    """Run the first code of an answer: an event of the code and one of its result replace the answer.

    Of the answer itself, the tool calls stay if the settings say so.
    """
    content = response.content
    if response.partial or content is None:
        return None
    executor = _executor(ctx)
    if isinstance(executor, BuiltInCodeExecutor):
        return [await _save_images(ctx, content)]
    execution = _execution(ctx, executor, limits)
    if execution.exhausted:
        return None
    parts = content.parts or ()
    calls = [part for part in parts if part.function_call is not None] if limits.keep_calls else []
    code_content = Content(role=content.role, parts=[part for part in parts if part not in calls])
    code = CodeExecutionUtils.extract_code_and_truncate_content(code_content, executor.code_block_delimiters)
    if not code:
        return None
    code_event = execution.event(code_content)
    code_event.usage_metadata = response.usage_metadata  # the answer itself is not recorded, its tokens are spent
    result = await execution.run(code, execution.context.get_input_files())
    response.content = Content(role=content.role, parts=calls) if calls else None
    response.usage_metadata = None
    return [code_event, result]


def _executor(ctx: LlmContext) -> BaseCodeExecutor:
    agent = ctx.agent
    executor = agent.code_executor
    if isinstance(executor, BaseCodeExecutor):
        return executor
    raise ConfigurationError(
        f"the code_executor of agent {agent.name!r} is {type(executor).__name__}, not a BaseCodeExecutor; "
        "pass an object, such as newel.code_executors.SandboxCodeExecutor()"
    )


def _execution(ctx: InvocationContext, executor: BaseCodeExecutor, limits: Limits) -> Execution:
    return Execution(ctx, executor, seconds=limits.timeout_seconds, max_output=limits.max_output)


def _write_as_text(executor: BaseCodeExecutor, request: LlmRequest) -> None:
    """Code and results in the contents become delimited text; contents without any stay shared."""
    code = executor.code_block_delimiters[0] if executor.code_block_delimiters else ("", "")
    for index, content in enumerate(list.copy(request.contents)):
        last = content.parts[-1] if content.parts else None
        if last is not None and (last.executable_code is not None or last.code_execution_result is not None):
            CodeExecutionUtils.convert_code_execution_parts(
                request.contents[index], code, executor.execution_result_delimiters
            )


async def _save_images(ctx: InvocationContext, content: Content) -> Event:
    """Make artifacts of the images that the model's own code drew.

    There is an event for every answer, though most save nothing: so it is recorded.
    """
    context = Context(full_invocation(ctx))
    for index, part in enumerate(content.parts or ()):
        blob = part.inline_data
        if blob is None or blob.data is None or not (blob.mime_type or "").startswith("image/"):
            continue
        name = (blob.display_name or "").removeprefix("user:") or _image_name(blob.mime_type or "", index)
        data = Part.from_bytes(data=blob.data, mime_type=blob.mime_type or "")
        await context.save_artifact(name, data)
        part.inline_data = None
        part.text = f"Saved as artifact: {name}. "
    return Event(invocation_id=ctx.invocation_id, author=ctx.agent.name, branch=ctx.branch, actions=context.actions)


def _image_name(mime_type: str, index: int) -> str:
    drawn = datetime.fromtimestamp(seam.clock()).astimezone()
    return f"{drawn:%Y%m%d_%H%M%S}_{index}.{mime_type.rpartition('/')[2]}"
