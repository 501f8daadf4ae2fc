"""Mermaid: a picture as the text of a Mermaid flowchart."""

from __future__ import annotations

from newel.drawing.picture import Box, Kind, Picture, Relation

_SHAPES = {
    Kind.AGENT: ("(", ")"),
    Kind.TOOL: ("[[", "]]"),
    Kind.TOOLSET: ("[/", "/]"),
    Kind.FUNCTION: ("[", "]"),
    Kind.JOIN: ("{{", "}}"),
    Kind.START: ("([", "])"),
    Kind.NODE: ("[", "]"),
}
_ARROWS = {
    Relation.SUB_AGENT: "-->",
    Relation.TOOL: "-.-",
    Relation.NEXT: "==>",
    Relation.DEFAULT: "-.->",
    Relation.AGAIN: "==>",
}
#: The characters that Mermaid takes literally between quotes; it reads markup, Markdown and entities there.
_SAFE = frozenset(" -_,.()/…")


def mermaid(picture: Picture) -> str:
    """The flowchart, left to right."""
    lines = ["flowchart LR"]
    for depth, box, ends in picture.walk():
        indent = "  " * (depth + 1)
        if ends:
            lines.append(f"{indent}end")
        elif box.is_group:
            lines.append(f'{indent}subgraph {box.id}["{_quoted(f"{box.name} ({box.detail})")}"]')
        else:
            start, end = _SHAPES[box.kind]
            lines.append(f'{indent}{box.id}{start}"{_label(box)}"{end}')
    for link in picture.links:
        source, target = link.source, link.target
        if not picture.crosses_frames(link):  # Mermaid draws no link between a frame and its contents
            source, target = picture.last_in(source).id, picture.first_in(target).id
        label = f'|"{_quoted(link.label)}"|' if link.label else ""
        lines.append(f"  {source} {_ARROWS[link.relation]}{label} {target}")
    return "\n".join(lines) + "\n"


def _label(box: Box) -> str:
    return "<br/>".join(_quoted(line) for line in (box.name, box.detail) if line)


def _quoted(text: str) -> str:
    """`text` with every character that could mean something to Mermaid as an entity."""
    apart = text.replace("$$", "$\u200b$")  # else a formula, even as entities
    return "".join(char if char.isalnum() or char in _SAFE else f"#{ord(char)};" for char in apart)
