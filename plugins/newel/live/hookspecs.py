"""How plugins provide what this room declares in `kinds`."""

from __future__ import annotations

from collections.abc import Sequence

from newel.live.kinds import LiveIn, LiveOut
from newel_kernel import Settings, hookspec


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
