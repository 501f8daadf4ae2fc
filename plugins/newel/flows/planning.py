"""planning: lets the agent's planner build its instruction and read its plan out of the answer.

Specified in docs/reference/behaviour.md#planning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from newel.contexts.context import Context
from newel.contexts.invocation_context import full_invocation
from newel.contexts.readonly_context import ReadonlyContext
from newel.flows.llm_agents import LlmContext, request_processor, response_processor
from newel_kernel import (
    Event,
    LlmRequest,
    LlmResponse,
    RequestProcessor,
    ResponseProcessor,
    hookimpl,
)

if TYPE_CHECKING:
    from newel.agents.llm_agent import LlmAgent
    from newel.planners.base_planner import BasePlanner


async def before(ctx: LlmContext, request: LlmRequest) -> None:
    """Append the planning instruction; a planner that configures the model's own thinking does just that."""
    planner = cast("BasePlanner", ctx.agent.planner)
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


async def after(ctx: LlmContext, request: LlmRequest, response: LlmResponse) -> list[Event] | None:
    """Let the planner sort the answer's parts; state that it writes is an event of its own."""
    planner = cast("BasePlanner", ctx.agent.planner)
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


def applies_to(agent: LlmAgent) -> bool:
    """Only if the agent has a planner."""
    return agent.planner is not None


@hookimpl
def register_request_processors() -> list[RequestProcessor]:
    """The request processor `planning`."""
    return [request_processor("planning", before, applies_to=applies_to)]


@hookimpl
def register_response_processors() -> list[ResponseProcessor]:
    """The response processor `planning`."""
    return [response_processor("planning", after, applies_to=applies_to)]
