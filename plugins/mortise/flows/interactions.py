"""interactions: continues a conversation that the provider keeps (the Interactions API)."""

from __future__ import annotations

from typing import Any

from mortise_kernel import InvocationContext, LlmRequest, RequestProcessor, hookimpl
from mortise_kernel.errors import FeatureUnavailableError


def run(ctx: InvocationContext, request: LlmRequest) -> None:
    """Refuse where the model asks for it: it must not seem to work."""
    raise FeatureUnavailableError(
        "this version of mortise does not speak the Interactions API yet; unset use_interactions_api"
    )


def applies_to(agent: Any) -> bool:
    """Only where the agent's model wants it."""
    model = agent.model
    return not isinstance(model, str) and bool(model.capabilities.interactions)


@hookimpl
def register_request_processors() -> list[RequestProcessor]:
    """The processor `interactions`."""
    return [RequestProcessor(name="interactions", run=run, applies_to=applies_to)]
