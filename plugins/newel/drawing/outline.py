"""Outline: a picture as indented text."""

from __future__ import annotations

from newel.drawing.picture import Box, Picture, Relation

_BELOW = (Relation.SUB_AGENT, Relation.TOOL)


def outline(picture: Picture) -> str:
    """A line for each box, under the group or the agent that it belongs to, and one for each route of a workflow."""
    below: dict[str, list[str]] = {}
    owned: set[str] = set()
    ways: dict[str, list[str]] = {}
    for link in picture.links:
        if link.relation in _BELOW:
            below.setdefault(link.source, []).append(link.target)
            owned.add(link.target)
        elif link.label:
            ways.setdefault(link.source, []).append(f"{link.label}: {picture.boxes[link.target].name}")
    lines: list[str] = []
    seen: set[str] = set()
    stack = [(0, box) for box in reversed(picture.inside(None)) if box.id not in owned or box.id == "n1"]
    while stack:
        depth, box = stack.pop()
        again = box.id in seen
        lines.append("  " * depth + _line(box, ways.get(box.id, []), again))
        if not again:
            seen.add(box.id)
            inner = [one for one in picture.inside(box.id) if one.id not in owned]
            inner += [picture.boxes[name] for name in below.get(box.id, [])]
            stack.extend((depth + 1, one) for one in reversed(inner))
    return "\n".join(lines)


def _line(box: Box, ways: list[str], again: bool) -> str:
    detail = "see above" if again else box.detail
    routes = f" -> {'; '.join(ways)}" if ways else ""
    return f"{box.name}{f' ({detail})' if detail else ''}{routes}"
