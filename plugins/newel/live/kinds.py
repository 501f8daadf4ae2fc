"""The kinds `LiveOut` and `LiveIn`: what happens to requests on their way to a live model, and to its responses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from newel import live as room
from newel_compose import Guard
from newel_kernel import Event, LlmResponse, Settings, Stage, hookspec
from newel_types import Blob

if TYPE_CHECKING:
    from newel.live.contract import LiveSession
    from newel.live.queue import LiveRequest

    #: A request, or a blob on its own.
    Outgoing: TypeAlias = LiveRequest | Blob
    OutStep: TypeAlias = Callable[[Outgoing], Outgoing | Awaitable[Outgoing | None] | None]
    Reported: TypeAlias = Sequence[Event] | None
    InStep: TypeAlias = Callable[[LlmResponse], Reported | Awaitable[Reported]]


def _is_outgoing(value: object) -> bool:
    return value is None or isinstance(value, (Blob, room.LiveRequest))  # its module is not imported to compose


def _is_reported(value: object) -> bool:
    return value is None or (isinstance(value, (list, tuple)) and all(isinstance(one, Event) for one in value))


def _maker(step: Guard) -> Mapping[str, Guard]:
    return {"make": Guard(("live",), lambda value: value is None or callable(value), "a function or None", result=step)}


_REPORT = Guard(("response",), _is_reported, "a list of events or None", awaited=None)
_ARRIVAL = Guard(("response",), lambda nothing: nothing is None, "None")


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveOut(Stage):
    """A step that the user's input takes on its way to the model.

    `make` is called once for each `LiveSession`, and returns the step, or None if it has nothing to do. The step
    gets the request (a Blob, if nothing comes with it) and returns the request to pass on, or None: then nothing is
    sent. A ValueError refuses the request: the session reports it, and goes on.
    """

    guards: ClassVar[Mapping[str, Guard]] = _maker(
        Guard(("request",), _is_outgoing, "the request, a Blob or None", awaited=None)
    )

    make: Callable[[LiveSession], OutStep | None]
    #: Whether it has anything to do for a Blob, which most requests of a live session are.
    blobs: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveIn(Stage):
    """A step that the model's output takes on its way to the consumer. `make` returns it, as in `LiveOut`.

    The step may change the response; events that it returns are committed and yielded before the response's own. With
    `arriving` it runs when the response arrives, which may be ahead of the consumer: it returns nothing, and sees only
    responses that hold more than content.
    """

    make: Callable[[LiveSession], InStep | None]
    arriving: bool = False

    @property
    def phase(self) -> int:
        """Those that run when the response arrives run before the others."""
        return int(not self.arriving)

    @property
    def guards(self) -> Mapping[str, Guard]:
        """How `make` and its steps are guarded in a third-party plugin; the result of an arriving step is ignored."""
        return _maker(_ARRIVAL if self.arriving else _REPORT)


@hookspec
def register_live_out(settings: Settings) -> Sequence[LiveOut]:
    """Steps of `live_out`. What happens to the user's requests before a live model gets them.

    The place of a step is in the distribution's `orders`, or next to an anchor.

    >>> def shout(live):
    ...     def step(request):
    ...         return request
    ...     return step
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_live_out(self):
    ...         return [LiveOut(name="shout", make=shout, after=("checks",))]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> [step.name for step in composed.registry.all(LiveOut)][1:3]
    ['checks', 'shout']
    """
    return ()


@hookspec
def register_live_in(settings: Settings) -> Sequence[LiveIn]:
    """Steps of `live_in`. What happens to a live model's responses before they become events.

    >>> def count(live):
    ...     return lambda response: None
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_live_in(self):
    ...         return [LiveIn(name="count", make=count, after=("saved_audio",))]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> [step.name for step in composed.registry.all(LiveIn)][-1]
    'count'
    """
    return ()
