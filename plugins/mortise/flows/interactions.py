"""interactions: continues a conversation that the provider keeps (the Interactions API)."""

from __future__ import annotations

from typing import Any

from mortise_kernel import InvocationContext, LlmRequest, RequestProcessor, hookimpl
from mortise_kernel.errors import FeatureUnavailableError


async def run(ctx: InvocationContext, request: LlmRequest) -> None:
    """Refuse where the app or the agent asks for it: it must not seem to work."""
    agent: Any = ctx.agent
    if getattr(agent.model_for(ctx), "use_interactions_api", False):
        raise FeatureUnavailableError("this version of mortise does not speak the Interactions API yet; unset use_interactions_api")


@hookimpl
def register_request_processors() -> list[RequestProcessor]:
    """The processor `interactions`."""
    return [RequestProcessor(name="interactions", run=run, applies_to=None)]
