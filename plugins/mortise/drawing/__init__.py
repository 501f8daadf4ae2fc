"""Drawings of agents: what an agent is made of, as a picture, and that picture as Mermaid, DOT, SVG or text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mortise_kernel.lazy import lazy_exports

if TYPE_CHECKING:
    from mortise.drawing.description import picture_of as picture_of
    from mortise.drawing.outline import outline as outline
    from mortise.drawing.picture import Picture as Picture

_WHERE = {
    "Picture": "mortise.drawing.picture",
    "outline": "mortise.drawing.outline",
    "picture_of": "mortise.drawing.description",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
