"""identity: tells the model its agent's name and description (S0 §3.5)."""

from __future__ import annotations

from mortise.agents.opening import mode_of
from mortise_kernel import InvocationContext, LlmRequest, RequestProcessor, hookimpl


async def run(ctx: InvocationContext, request: LlmRequest) -> None:
    """Append the identity to the system instruction; an agent that answers once needs none."""
    agent = ctx.agent
    if ctx.opening is not None and mode_of(ctx) == "single_turn":
        return
    text = f'You are an agent. Your internal name is "{agent.name}".'
    if agent.description:
        text += f' The description about you is "{agent.description}".'
    request.append_instructions([text])


@hookimpl
def register_request_processors() -> list[RequestProcessor]:
    """The processor `identity`."""
    return [RequestProcessor(name="identity", run=run)]
