"""identity: tells the model its agent's name and description (docs/reference/behaviour.md#identity)."""

from __future__ import annotations

from collections.abc import Callable

from newel.agents.opening import mode_of
from newel.flows.llm_agents import LlmContext, agent_processor
from newel_kernel import BaseAgent, LlmRequest, RequestProcessor, hookimpl


def for_agent(agent: BaseAgent) -> Callable[[LlmContext, LlmRequest], None]:
    """A step that appends the identity, made once, to the system instruction; an agent that answers once needs none."""
    text = f'You are an agent. Your internal name is "{agent.name}".'
    if agent.description:
        text += f' The description about you is "{agent.description}".'

    def append(ctx: LlmContext, request: LlmRequest) -> None:
        if ctx.opening is None or mode_of(ctx) != "single_turn":
            request.append_instruction(text)

    return append


@hookimpl
def register_request_processors() -> list[RequestProcessor]:
    """The processor `identity`."""
    return [agent_processor("identity", for_agent)]
