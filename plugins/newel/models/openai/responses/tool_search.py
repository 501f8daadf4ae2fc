"""Tool search: the service searches tools whose declarations it keeps out of the model's prompt."""

from __future__ import annotations

from collections.abc import Collection

from newel.models.deferral import Deferral
from newel.models.openai.reading import objects
from newel.models.wire.names import Names
from newel_kernel import Json

SEARCHES = ("tool_search_call", "tool_search_output")
#: Keys in `Part.part_metadata`: the item of a search, and the namespace of a call.
SEARCH, NAMESPACE = "search", "namespace"
_SEARCH: Json = {"type": "tool_search"}
#: Fields of an answer's item that name what only a service that stores answers knows.
_OF_ANSWERS = ("id", "created_by")


def sendable(item: Json) -> Json:
    """The item of a search in the form in which the service takes it back."""
    return {name: value for name, value in item.items() if name not in _OF_ANSWERS}


def loaded(item: Json) -> list[str]:
    """The tools that a search found, as the service spells them."""
    names = [name for tool in objects(item.get("tools")) for name in _named(tool)]
    return [name for name in names if isinstance(name, str)]


def _named(tool: Json) -> list[object]:
    inner = objects(tool.get("tools"))  # of a namespace
    return [one.get("name") for one in inner] if inner else [tool.get("name")]


def defer(body: Json, deferral: Deferral, names: Names, referenced: Collection[str]) -> None:
    """Declare the search in `body`, and defer the tools that it searches.

    `referenced` are the tools that searches in the request's history found. Tools that must be called, or are the only
    ones that may be, are not deferred.
    """
    choice = body.get("tool_choice")
    chosen = (
        {tool.get("name") for tool in objects(choice.get("tools")) or [choice]} if isinstance(choice, dict) else set()
    )
    deferred = {names.out(name) for name in deferral.names} - chosen
    deferred -= {names.out(name) for name in deferral.found}.difference(referenced)
    tools: list[Json] = body.get("tools") or []
    body["tools"] = [
        *({**tool, "defer_loading": True} if tool["name"] in deferred else tool for tool in tools),
        _SEARCH,
    ]


def fitted(items: list[Json], declared: frozenset[str] | None) -> list[Json]:
    """The items with the searches that fit a request with the tools `declared`.

    None: it has no search, and earlier ones are left out with the thoughts that led to them.
    """
    if declared is not None:
        return [_known(item, declared) if item["type"] == SEARCHES[1] else item for item in items]
    fitting: list[Json] = []
    for item in items:
        if item["type"] not in SEARCHES:
            fitting.append({key: value for key, value in item.items() if key != NAMESPACE})
            continue
        while fitting and fitting[-1]["type"] == "reasoning":
            fitting.pop()
    return fitting


def _known(item: Json, declared: frozenset[str]) -> Json:
    if declared.issuperset(loaded(item)):
        return item
    return {**item, "tools": [tool for tool in objects(item.get("tools")) if declared.issuperset(_named(tool))]}
