"""Outline: a picture as indented text."""

from __future__ import annotations

from newel.drawing.picture import Box, Picture, Relation

_BELOW = (Relation.SUB_AGENT, Relation.TOOL)


def outline(picture: Picture) -> str:
    """A line for each box, under the group or the agent that it belongs to, and one for each route of a workflow."""
    below: dict[str, list[str]] = {}
    attached: set[str] = set()
    routes: dict[str, list[str]] = {}
    for link in picture.links:
        if link.relation in _BELOW:
            below.setdefault(link.source, []).append(link.target)
            attached.add(link.target)
        elif link.label:
            routes.setdefault(link.source, []).append(f"{link.label}: {picture.boxes[link.target].name}")
    lines: list[str] = []
    visited: set[str] = set()
    stack = [(0, box) for box in reversed(picture.inside(None)) if box.id not in attached or box.id == "n1"]
    while stack:
        depth, box = stack.pop()
        again = box.id in visited
        lines.append("  " * depth + _line(box, routes.get(box.id, []), again))
        if not again:
            visited.add(box.id)
            inner = [one for one in picture.inside(box.id) if one.id not in attached]
            inner += [picture.boxes[name] for name in below.get(box.id, [])]
            stack.extend((depth + 1, one) for one in reversed(inner))
    return "\n".join(lines)


def _line(box: Box, routes: list[str], again: bool) -> str:
    detail = "see above" if again else box.detail
    arrow = f" -> {'; '.join(routes)}" if routes else ""
    return f"{box.name}{f' ({detail})' if detail else ''}{arrow}"
