"""planning: lets the agent's planner build its instruction and read its plan out of the answer.

Specified in docs/reference/behaviour.md#planning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pydantic import BaseModel

from newel.contexts.context import Context
from newel.contexts.invocation_context import full_invocation
from newel.contexts.readonly_context import ReadonlyContext
from newel.flows.llm_agents import LlmContext, request_processor, response_processor
from newel_kernel import (
    Event,
    Key,
    LlmRequest,
    LlmResponse,
    RequestProcessor,
    ResponseProcessor,
    hookimpl,
)

if TYPE_CHECKING:
    from newel.agents.llm_agent import LlmAgent
    from newel.planners.base_planner import BasePlanner
    from newel.planners.plan_re_act_planner import PlanStream


#: What sorts the chunks of the answer that is coming, by agent.
_STREAMS = Key[dict[str, "PlanStream"]]("plan streams", dict)


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of planning."""

    #: Sort the chunks of a streamed answer as the whole is: what is or may be a thought is not shown as the answer.
    sort_chunks: bool = False


async def before(ctx: LlmContext, request: LlmRequest) -> None:
    """Append the planning instruction; a planner that configures the model's own thinking does just that."""
    planner = cast("BasePlanner", ctx.agent.planner)
    ctx.stash[_STREAMS].pop(ctx.agent.name, None)
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
    said = response.content.parts
    if response.partial and _sorts_chunks(ctx) and (begin := getattr(planner, "plan_stream", None)) is not None:
        stream = ctx.stash[_STREAMS].setdefault(ctx.agent.name, begin())
        response.content.parts = stream.parts_of(said)
        if not response.content.parts:
            response.content = None
        return None
    context = Context(full_invocation(ctx))
    parts = planner.process_planning_response(context, said)
    if parts:
        response.content.parts = parts
    actions = context.touched_actions
    if actions is None or not actions.state_delta:
        return None
    return [Event(invocation_id=ctx.invocation_id, author=ctx.agent.name, branch=ctx.branch, actions=actions)]


def _sorts_chunks(ctx: LlmContext) -> bool:
    return ctx.composition.settings_of("planning", Settings).sort_chunks


def applies_to(agent: LlmAgent) -> bool:
    """Only if the agent has a planner."""
    return agent.planner is not None


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_request_processors() -> list[RequestProcessor]:
    """The request processor `planning`."""
    return [request_processor("planning", before, applies_to=applies_to)]


@hookimpl
def register_response_processors() -> list[ResponseProcessor]:
    """The response processor `planning`."""
    return [response_processor("planning", after, applies_to=applies_to)]
