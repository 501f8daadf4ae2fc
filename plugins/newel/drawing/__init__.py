"""Drawings of agents: what an agent is made of, as a picture, and that picture as Mermaid, DOT, SVG or text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.drawing.description import picture_of as picture_of
    from newel.drawing.kinds import Display as Display
    from newel.drawing.picture import Picture as Picture
    from newel.drawing.text_outline import outline as outline

_WHERE = {
    "Display": "newel.drawing.kinds",
    "Picture": "newel.drawing.picture",
    "outline": "newel.drawing.text_outline",
    "picture_of": "newel.drawing.description",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
