"""Deferral: the tools of a request that the model's service searches itself, and what its searches found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from newel_kernel import Event, Key
from newel_types import Part

#: In `Part.part_metadata` of the part that keeps a service's answer to a search: the names of the tools that it found.
FOUND = "found_tools"


@dataclass(frozen=True, slots=True)
class Deferral:
    """`names` are declared, but kept out of the prompt until a search of the service finds them.

    `found` are those that a search has found in this session. If the request no longer holds that search, because its
    history was shortened or another agent did it, they are declared like any other tool.
    """

    names: frozenset[str]
    found: frozenset[str] = frozenset()

    def __or__(self, other: Deferral) -> Deferral:
        return Deferral(self.names | other.names, self.found | other.found)


#: In the stash of a request. A model without `ModelCapabilities.tool_search` declares all tools.
DEFERRAL: Key[Deferral] = Key("deferred tools")


def found_in(part: Part) -> list[str]:
    """The names of the tools that a service's search found, if the part keeps its answer."""
    names = part.part_metadata.get(FOUND) if part.part_metadata else None
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def found_by(events: Iterable[Event]) -> set[str]:
    """The names of the tools that searches of services found in these events."""
    contents = (event.content for event in events if event.content is not None)
    return {name for content in contents for part in content.parts or () for name in found_in(part)}
