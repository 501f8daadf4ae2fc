"""interactions: continues a conversation that the model's provider keeps (the Interactions API)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel.flows.llm_agents import LlmContext, request_processor
from newel.models.google.request_keys import PREVIOUS_INTERACTION
from newel_kernel import BaseAgent, LlmRequest, Log, RequestProcessor, hookimpl

if TYPE_CHECKING:
    from newel.models.contract import BaseLlm


def run(ctx: LlmContext, request: LlmRequest) -> None:
    """Name the interaction that this one continues."""
    request.stash[PREVIOUS_INTERACTION] = _previous(ctx)


def _previous(ctx: LlmContext) -> str | None:
    """The interaction of the agent's latest answer, on its branch or before it branched off, in the same isolated run.

    An interaction that failed cannot be continued. If the agent is to see the current turn only, earlier
    interactions, which hold what came before, are not continued.
    """
    agent = ctx.agent
    for _, event in Log(ctx.session.events).backwards():
        if agent.include_contents == "none" and event.invocation_id != ctx.invocation_id:
            return None
        if (
            event.interaction_id
            and event.author == agent.name
            and not event.error_code
            and (not event.branch or event.branch == ctx.branch)
            and event.isolation_scope == ctx.isolation_scope
        ):
            return event.interaction_id
    return None


def applies_to(agent: BaseAgent | None) -> bool:
    """Only if the model that the agent asks, its own or an ancestor's, keeps conversations."""
    while agent is not None:
        model: str | BaseLlm | None = getattr(agent, "model", None)
        if model:
            return not isinstance(model, str) and bool(model.capabilities.interactions)
        agent = agent.parent_agent
    return False


@hookimpl
def register_request_processors() -> list[RequestProcessor]:
    """The processor `interactions`."""
    return [request_processor("interactions", run, applies_to=applies_to)]
