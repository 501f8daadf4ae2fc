"""compaction: summarises the older part of a long conversation."""

from __future__ import annotations

from mortise_kernel import InvocationContext, LlmRequest, RequestProcessor, hookimpl
from mortise_kernel.errors import FeatureUnavailableError


async def run(ctx: InvocationContext, request: LlmRequest) -> None:
    """Refuse where the app or the agent asks for it: it must not seem to work."""
    if getattr(ctx.app, "events_compaction_config", None) is not None:
        raise FeatureUnavailableError(
            "this version of mortise cannot compact a session yet; "
            "remove events_compaction_config from the App"
        )


@hookimpl
def register_request_processors() -> list[RequestProcessor]:
    """The processor `compaction`."""
    return [RequestProcessor(name="compaction", run=run, applies_to=None)]
