"""planning: lets the agent's planner build its instruction and read its plan out of the answer (S3 §4)."""

from __future__ import annotations

from typing import Any

from newel.contexts.context import Context
from newel.contexts.invocation_context import full_invocation
from newel.contexts.readonly_context import ReadonlyContext
from newel_kernel import (
    Event,
    InvocationContext,
    LlmRequest,
    LlmResponse,
    RequestProcessor,
    ResponseProcessor,
    hookimpl,
)


async def before(ctx: InvocationContext, request: LlmRequest) -> None:
    """Append the planning instruction; a planner that configures the model's own thinking does just that."""
    planner: Any = ctx.agent.planner  # type: ignore[attr-defined]
    configure = getattr(planner, "apply_thinking_config", None)
    if configure is not None:
        configure(request)
        return
    instruction = planner.build_planning_instruction(ReadonlyContext(full_invocation(ctx)), request)
    if instruction:
        request.append_instructions([instruction])
    for index, content in enumerate(list.copy(request.contents)):
        if any(part.thought for part in content.parts or ()):
            for part in request.contents[index].parts or ():  # the model's plan is its own text again
                part.thought = None


async def after(ctx: InvocationContext, request: LlmRequest, response: LlmResponse) -> list[Event] | None:
    """Let the planner sort the answer's parts; state that it writes is an event of its own."""
    planner: Any = ctx.agent.planner  # type: ignore[attr-defined]
    if hasattr(planner, "apply_thinking_config") or response.content is None or not response.content.parts:
        return None
    context = Context(full_invocation(ctx))
    parts = planner.process_planning_response(context, response.content.parts)
    if parts:
        response.content.parts = parts
    actions = context.touched_actions
    if actions is None or not actions.state_delta:
        return None
    return [Event(invocation_id=ctx.invocation_id, author=ctx.agent.name, branch=ctx.branch, actions=actions)]


def applies_to(agent: Any) -> bool:
    """Only where the agent has a planner."""
    return agent.planner is not None


@hookimpl
def register_request_processors() -> list[RequestProcessor]:
    """The request processor `planning`."""
    return [RequestProcessor(name="planning", run=before, applies_to=applies_to)]


@hookimpl
def register_response_processors() -> list[ResponseProcessor]:
    """The response processor `planning`."""
    return [ResponseProcessor(name="planning", run=after, applies_to=applies_to)]
