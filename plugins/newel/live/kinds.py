"""The kinds `LiveOut` and `LiveIn`: what happens to requests on their way to a live model, and to its responses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from newel_kernel import Event, LlmResponse, Settings, Stage, hookspec

if TYPE_CHECKING:
    from newel.live.contract import LiveSession
    from newel.live.queue import LiveRequest
    from newel_types import Blob

    #: A request, or a blob that nothing else comes with.
    Outgoing: TypeAlias = LiveRequest | Blob
    OutStep: TypeAlias = Callable[[Outgoing], Outgoing | Awaitable[Outgoing | None] | None]
    Reported: TypeAlias = Sequence[Event] | None
    InStep: TypeAlias = Callable[[LlmResponse], Reported | Awaitable[Reported]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveOut(Stage):
    """A step of what the user says on its way to the model.

    `make` is asked once for each connection of an agent's live run, and gives the step, or None where it has nothing to
    do. The step gets the request (a Blob, where nothing comes with one) and returns what goes on, or None: then nothing
    is sent. A ValueError refuses the request: the session is told, and goes on.
    """

    make: Callable[[LiveSession], OutStep | None]
    #: Whether it has anything to do for a Blob, which most requests of a live session are.
    blobs: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveIn(Stage):
    """A step of what the model says on its way to the consumer. `make` gives it, as that of `LiveOut` does.

    The step may change the response; events that it returns are committed and yielded before the response's own. With
    `arriving` it runs when the response arrives, which may be ahead of the consumer: it returns nothing, and sees only
    responses that hold more than content.
    """

    make: Callable[[LiveSession], InStep | None]
    arriving: bool = False


@hookspec
def register_live_out(settings: Settings) -> Sequence[LiveOut]:
    """Steps of `live_out`. What happens to the user's requests before a live model gets them.

    The place of a step is in the distribution's `orders`, or beside an anchor.

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
