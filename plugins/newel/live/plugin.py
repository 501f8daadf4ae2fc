"""The plugin of live sessions: the two orders of steps, the steps that the distributions name, and the settings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from newel.live import kinds
from newel.live.kinds import LiveIn, LiveOut
from newel.live.settings import Settings
from newel_kernel import Descriptor, Epilogue, Kind, hookimpl
from newel_types import deferred

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from newel_kernel import Event, InvocationContext

#: Step -> what makes it; it loads with the first live session.
_OUT = {
    "tool_streams": deferred("newel.live.steps.tool_streams", "make"),
    "checks": deferred("newel.live.steps.checks", "make"),
    "answers": deferred("newel.live.steps.answers", "make"),
    "typed_text": deferred("newel.live.steps.typed_text", "make"),
    "screening": deferred("newel.live.steps.screening", "make_out"),
    "saved_audio": deferred("newel.live.steps.saved_audio", "make_out"),
}
#: The steps that have nothing to do for audio.
_WORDS = ("answers", "typed_text", "screening")
_IN = {
    "resumption": deferred("newel.live.steps.arrivals", "resumption"),
    "go_away": deferred("newel.live.steps.arrivals", "go_away"),
    "interruption": deferred("newel.live.steps.arrivals", "interruption"),
    "revoked_calls": deferred("newel.live.steps.arrivals", "revoked"),
    "screening": deferred("newel.live.steps.screening", "make_in"),
    "transcriptions": deferred("newel.live.steps.transcriptions", "make"),
    "saved_audio": deferred("newel.live.steps.saved_audio", "make_in"),
}
#: The steps that look at what arrives, before anything is made of it.
_ARRIVING = ("resumption", "go_away", "interruption", "revoked_calls")
_close_audio = deferred("newel.live.steps.saved_audio", "close")


def _make(load: Callable[[], Callable[[object], Any]], session: object) -> Any:
    return load()(session)


def _close(ctx: InvocationContext, _error: BaseException | None) -> Coroutine[Any, Any, Sequence[Event]] | None:
    """Save what was recorded since the last turn of a live run."""
    if ctx.mode is None:
        return None
    return _close_audio()(ctx)  # type: ignore[no-any-return]


@hookimpl
def register_epilogues() -> list[Epilogue]:
    """Save what a live run leaves, however it ended."""
    return [Epilogue(name="live", run=_close, on_continuation=True)]


@hookimpl
def register_settings() -> type[Settings]:
    """The class of the plugin's settings."""
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
    return [LiveOut(name=name, make=partial(_make, load), blobs=name not in _WORDS) for name, load in _OUT.items()]


@hookimpl
def register_live_in() -> list[LiveIn]:
    """The steps of this package on the way in."""
    return [LiveIn(name=name, make=partial(_make, load), arriving=name in _ARRIVING) for name, load in _IN.items()]
