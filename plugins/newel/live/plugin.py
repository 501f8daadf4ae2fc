"""The plugin of live sessions: the two orders of steps, the steps that the distributions name, and the settings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from newel.live import kinds
from newel.live.kinds import LiveIn, LiveOut
from newel.live.settings import Settings
from newel_kernel import Descriptor, Epilogue, Kind, hookimpl

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from newel_kernel import Event, InvocationContext

#: Step -> where it is made; it loads with the first live session.
_OUT = {
    "tool_streams": "tool_streams:make",
    "checks": "checks:make",
    "answers": "answers:make",
    "typed_text": "typed_text:make",
    "screening": "screening:make_out",
    "saved_audio": "saved_audio:make_out",
}
#: The steps that have nothing to do for audio.
_WORDS = ("answers", "typed_text", "screening")
_IN = {
    "resumption": "arrivals:resumption",
    "go_away": "arrivals:go_away",
    "interruption": "arrivals:interruption",
    "revoked_calls": "arrivals:revoked",
    "screening": "screening:make_in",
    "transcriptions": "transcriptions:make",
    "saved_audio": "saved_audio:make_in",
}


def _make(place: str, session: object) -> Any:
    module, _, name = place.partition(":")
    make: Callable[[object], object] = getattr(import_module(f"newel.live.steps.{module}"), name)
    return make(session)


def _close(ctx: InvocationContext, _error: BaseException | None) -> Coroutine[Any, Any, Sequence[Event]] | None:
    """Save what was recorded since the last turn of a live run."""
    if ctx.live_request_queue is None:
        return None
    return import_module("newel.live.steps.saved_audio").close(ctx)  # type: ignore[no-any-return]


@hookimpl
def register_epilogues() -> list[Epilogue]:
    """Save what a live run leaves, however it ended."""
    return [Epilogue(name="live", run=_close)]


@hookimpl
def register_settings() -> type[Settings]:
    """The settings."""
    return Settings


@hookimpl
def register_kinds() -> list[Kind[Descriptor]]:
    """The steps on the way out and on the way in."""
    return [
        Kind(kinds.LiveOut, kinds.register_live_out, order="live_out"),
        Kind(kinds.LiveIn, kinds.register_live_in, order="live_in"),
    ]


@hookimpl
def register_live_out() -> list[LiveOut]:
    """The steps of this package on the way out."""
    return [LiveOut(name=name, make=partial(_make, place), blobs=name not in _WORDS) for name, place in _OUT.items()]


@hookimpl
def register_live_in() -> list[LiveIn]:
    """The steps of this package on the way in."""
    return [
        LiveIn(name=name, make=partial(_make, place), arriving=place.startswith("arrivals:"))
        for name, place in _IN.items()
    ]
