"""context_cache: lets a provider cache the unchanging start of a request."""

from __future__ import annotations

from mortise_kernel import InvocationContext, LlmRequest, RequestProcessor, hookimpl
from mortise_kernel.errors import FeatureUnavailableError


def run(ctx: InvocationContext, request: LlmRequest) -> None:
    """Refuse where the app or the agent asks for it: it must not seem to work."""
    if getattr(ctx.app, "context_cache_config", None) is not None:
        raise FeatureUnavailableError(
            "this version of mortise has no context caching yet; "
            "remove context_cache_config from the App"
        )


@hookimpl
def register_request_processors() -> list[RequestProcessor]:
    """The processor `context_cache`."""
    return [RequestProcessor(name="context_cache", run=run, applies_to=None)]
