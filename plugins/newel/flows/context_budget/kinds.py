"""The kind `ContextStrategy`: what becomes of old results when a request grows too large."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from newel_kernel import Event, InvocationContext, Json, Settings, Stage, hookspec
from newel_types import FunctionCall, FunctionResponse


@dataclass(frozen=True, slots=True)
class OldResult:
    """A tool's result that the model has seen, and that may be shown in another form from now on."""

    call: FunctionCall
    response: FunctionResponse
    #: The name under which `read_result` gives the result back.
    handle: str
    #: Its size as JSON, and how many steps (requests for tools) came after it.
    characters: int
    age: int
    #: The strategy that has shortened it already; empty if it is whole.
    shortened_by: str = ""


class Replacement(NamedTuple):
    """What the model sees in place of a result."""

    result: OldResult
    response: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextStrategy(Stage):
    """A way to make the next request smaller. The first of the order that suffices is the last that is asked.

    `shorten` gets the results that may be shortened, the oldest first, and says which ones are, and to what. It is for
    good: the session remembers it. `summarize` makes an event with a summary of what came before, or None; it is asked
    only if the request would not fit into the model's window otherwise.
    """

    shorten: Callable[[Sequence[OldResult]], Iterable[Replacement]] | None = None
    summarize: Callable[[InvocationContext], Awaitable[Event | None]] | None = None


@hookspec
def register_context_strategies(settings: Settings) -> Sequence[ContextStrategy]:
    """Ways to make a request smaller, each cheap before dear. Shows old results of tools in another form.

    Their place is in `orders: context_strategies` of the distribution, or next to an anchor.

    >>> def without_pages(results):
    ...     for result in results:
    ...         if result.call.name == "read_page":
    ...             yield Replacement(result, {"page": f"read_result({result.handle!r}) shows it again"})
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_context_strategies(self):
    ...         return [ContextStrategy(name="pages", shorten=without_pages, before=("clear",))]
    >>> composed = compose("standard", plugins=[Plugin()])
    >>> composed.registry.find(ContextStrategy, "pages").name
    'pages'
    """
    return ()
