"""AudioCacheManager: keeps pieces of audio of a live session until they are written as artifacts.

Specified in docs/reference/behaviour.md#live-sessions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from newel.contexts.invocation_context import full_invocation
from newel.live.settings import Settings
from newel.live.steps.saved_audio import recordings_of, written
from newel_kernel import Event
from newel_types import Blob

if TYPE_CHECKING:
    from newel.contexts.invocation_context import InvocationContext

__all__ = ["AudioCacheManager"]


class AudioCacheManager:
    """The recordings of an invocation, which the step `saved_audio` fills and writes at the end of each turn.

    A live run with `save_live_blob` does both by itself. Use this one in steps or agents of your own.
    """

    def cache_audio(
        self, invocation_context: InvocationContext, blob: Blob, cache_type: Literal["input", "output"]
    ) -> None:
        """Append a piece of what the user (`input`) or the model (`output`) says; ValueError for another type."""
        ctx = full_invocation(invocation_context)
        recordings = recordings_of(ctx)
        sides = {"input": recordings.user, "output": recordings.model}
        if cache_type not in sides:
            raise ValueError(f"cache_type is {cache_type!r}: it must be 'input' or 'output'")
        sides[cache_type].add(blob, ctx.composition.settings_of("live", Settings).saved_bytes)

    async def flush_caches(
        self, invocation_context: InvocationContext, flush_user_audio: bool = True, flush_model_audio: bool = True
    ) -> list[Event]:
        """Write what is kept to the artifact service; events that refer to it, which the caller yields.

        Without an artifact service, and if it fails, there are none, and the audio is dropped.
        """
        ctx = full_invocation(invocation_context)
        recordings = recordings_of(ctx)
        choices = [(recordings.user, flush_user_audio), (recordings.model, flush_model_audio)]
        return await written(ctx, [recording for recording, flush in choices if flush])
