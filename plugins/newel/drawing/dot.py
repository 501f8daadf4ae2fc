"""DOT: a picture as the text of a graph for Graphviz."""

from __future__ import annotations

from collections.abc import Iterator

from newel.drawing.picture import Box, Kind, Link, Picture, Relation

#: Readable on white and on black: the page behind a drawing is not ours.
_GREY = "#6e7781"
#: Graphviz knows how wide its letters are; a list of fonts would be measured as Times.
FONT = "Arial"
_HEAD = (
    f'graph [rankdir="LR", compound="true", bgcolor="transparent", fontname="{FONT}", fontsize="12", '
    f'fontcolor="{_GREY}", color="{_GREY}", style="rounded", nodesep="0.2", ranksep="0.6"]',
    f'node [fontname="{FONT}", fontsize="12", fontcolor="#1f2328", color="{_GREY}", style="filled", '
    f'shape="box", margin="0.14,0.07", height="0.4"]',
    f'edge [fontname="{FONT}", fontsize="11", fontcolor="{_GREY}", color="{_GREY}", arrowsize="0.7"]',
)
_SHAPES: dict[Kind, dict[str, str]] = {
    Kind.AGENT: {"style": "rounded,filled", "fillcolor": "#d0e3ff"},
    Kind.TOOL: {"shape": "component", "fillcolor": "#fdeec4"},
    Kind.TOOLSET: {"shape": "folder", "fillcolor": "#fdeec4"},
    Kind.FUNCTION: {"fillcolor": "#d9f2dc"},
    Kind.JOIN: {"shape": "hexagon", "fillcolor": "#ecdcf9"},
    Kind.START: {"shape": "oval", "fillcolor": "#e6e8eb"},
    Kind.NODE: {"fillcolor": "#e6e8eb"},
}
_LINES: dict[Relation, dict[str, str]] = {
    Relation.SUB_AGENT: {},
    Relation.TOOL: {"style": "dotted", "arrowhead": "none"},
    Relation.NEXT: {"penwidth": "1.6"},
    Relation.DEFAULT: {"penwidth": "1.6", "style": "dashed"},
    Relation.AGAIN: {"penwidth": "1.6"},
}


def dot(picture: Picture) -> str:
    """The graph, left to right. A link from or to a group is drawn to a box in it, and cut at the frame."""
    lines = [f"digraph {_quoted(picture.name)} {{", *(f"  {line};" for line in _HEAD)]
    for depth, box, ends in picture.walk():
        indent = "  " * (depth + 1)
        if ends:
            lines.append(f"{indent}}}")
        elif box.is_group:
            lines.append(f"{indent}subgraph cluster_{box.id} {{")
            lines.append(f"{indent}  label={_quoted(f'{box.name} ({box.detail})')};")
        else:
            shape = {**_SHAPES[box.kind], "tooltip": box.about or box.name}
            lines.append(f"{indent}{box.id} [label={_label(box)}, {_attributes(shape)}];")
    followed = {link.source for link in picture.links if link.relation is not Relation.AGAIN}
    for link in picture.links:
        lines += [f"  {edge};" for edge in _edges(link, picture, followed)]
    return "\n".join([*lines, "}"]) + "\n"


def _edges(link: Link, picture: Picture, followed: set[str]) -> Iterator[str]:
    """The edge of a link, and invisible ones that keep its whole source group left of its target."""
    tails, head = [picture.last_in(link.source).id], picture.first_in(link.target)
    attributes = {"label": link.label} if link.label else {}
    attributes |= _LINES[link.relation]
    if picture.crosses_frames(link):
        if picture.boxes[link.source].is_group:
            tails = list(_ends(link.source, picture, followed)) or tails
            attributes["ltail"] = f"cluster_{link.source}"
        if head.id != link.target:
            attributes["lhead"] = f"cluster_{link.target}"
    yield f"{tails[-1]} -> {head.id}" + (f" [{_attributes(attributes)}]" if attributes else "")
    yield from (f'{tail} -> {head.id} [style="invis"]' for tail in tails[:-1])


def _ends(group: str, picture: Picture, followed: set[str]) -> Iterator[str]:
    """The boxes in a group that nothing follows."""
    waiting = [box for box in picture.inside(group) if box.id not in followed]
    while waiting:
        box = waiting.pop()
        if box.is_group:
            waiting += [inner for inner in picture.inside(box.id) if inner.id not in followed]
        else:
            yield box.id


def _attributes(attributes: dict[str, str]) -> str:
    return ", ".join(f"{name}={_quoted(value)}" for name, value in attributes.items())


def _label(box: Box) -> str:
    return '"' + r"\n".join(_escaped(line) for line in (box.name, box.detail) if line) + '"'


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    """Between quotes, Graphviz reads escape sequences and HTML's entities."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
