"""Picture: the boxes of a drawing, the groups that they are in, and the links between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

_JOINERS = "\u200c\u200d"  # without width, yet part of how words and emoji are written
_NAME, _DETAIL, _ABOUT = 48, 60, 300


class Kind(StrEnum):
    """What a box stands for."""

    AGENT = "agent"
    TOOL = "tool"
    TOOLSET = "toolset"
    FUNCTION = "function"
    JOIN = "join"
    START = "start"
    NODE = "node"


class Relation(StrEnum):
    """What a link stands for."""

    #: From an agent to one that it may hand over to, or otherwise runs.
    SUB_AGENT = "sub-agent"
    TOOL = "tool"
    #: What runs next.
    NEXT = "next"
    #: What runs next if no other route was taken.
    DEFAULT = "default"
    #: What runs again.
    AGAIN = "again"


#: The boxes that hang on another box and are not steps.
_TOOLS = (Kind.TOOL, Kind.TOOLSET)


@dataclass(frozen=True, slots=True)
class Box:
    """A box, or with `is_group` a frame around others; `frame` is the id of the group that it is in."""

    id: str
    kind: Kind
    name: str
    #: The second line: its type, its model.
    detail: str = ""
    about: str = ""
    frame: str | None = None
    is_group: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """From one box or group to another, by id."""

    source: str
    target: str
    relation: Relation
    label: str = ""


@dataclass(slots=True)
class Picture:
    """The drawing of the agent `name`. Ids have no meaning: n1, n2, … in the order in which boxes were added."""

    name: str
    boxes: dict[str, Box] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)
    _inside: dict[str | None, list[Box]] = field(default_factory=dict)

    def add(
        self,
        kind: Kind,
        name: object,
        *,
        detail: object = "",
        about: object = "",
        frame: str | None = None,
        is_group: bool = False,
    ) -> str:
        """Add a box; return its id."""
        box = Box(
            id=f"n{len(self.boxes) + 1}",
            kind=kind,
            name=plain(name, _NAME) or "?",
            detail=plain(detail, _DETAIL),
            about=plain(about, _ABOUT),
            frame=frame,
            is_group=is_group,
        )
        self.boxes[box.id] = box
        self._inside.setdefault(frame, []).append(box)
        return box.id

    def link(self, source: str, target: str, relation: Relation, label: object = "") -> None:
        """Add a link."""
        self.links.append(Link(source, target, relation, plain(label, _NAME)))

    def inside(self, frame: str | None) -> list[Box]:
        """The boxes directly in a group, or in none."""
        return self._inside.get(frame, [])

    def first_in(self, name: str) -> Box:
        """The box of that id, or the first one in that group."""
        box = self.boxes[name]
        while box.is_group:
            box = self._inside[box.id][0]
        return box

    def last_in(self, name: str) -> Box:
        """The box of that id, or the last one in that group, tools aside."""
        box = self.boxes[name]
        while box.is_group:
            box = [one for one in self._inside[box.id] if one.kind not in _TOOLS][-1]
        return box

    def crosses_frames(self, link: Link) -> bool:
        """Whether a link can end at its groups' frames: neither end is the other one, or lies in it."""
        return not (self._is_within(link.source, link.target) or self._is_within(link.target, link.source))

    def _is_within(self, name: str | None, group: str) -> bool:
        while name is not None and name != group:
            name = self.boxes[name].frame
        return name is not None

    def walk(self) -> Iterator[tuple[int, Box, bool]]:
        """Each box with its depth, in drawing order; a group twice, the second time (True) where it ends."""
        stack: list[tuple[int, Box, bool]] = [(0, box, False) for box in reversed(self.inside(None))]
        while stack:
            depth, box, ends = stack.pop()
            yield depth, box, ends
            if box.is_group and not ends:
                stack.append((depth, box, True))
                stack.extend((depth + 1, inner, False) for inner in reversed(self.inside(box.id)))


def plain(text: object, width: int) -> str:
    """`text` on one line of at most `width` characters, all printable: no format knows how to quote the others."""
    words = " ".join(str(text)[: 4 * width].split())
    safe = "".join(char if char.isprintable() or char in _JOINERS else "\ufffd" for char in words)
    return safe if len(safe) <= width else safe[: width - 1] + "…"
