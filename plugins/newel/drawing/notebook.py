"""Notebook: an agent as Jupyter shows it."""

from __future__ import annotations

from collections.abc import Callable, Collection

from newel.drawing.description import picture_of
from newel.drawing.mermaid import mermaid
from newel.drawing.svg import can_lay_out, svg
from newel.drawing.text_outline import outline
from newel_kernel import BaseAgent, Json


def mime_bundle(
    agent: BaseAgent, *, include: Collection[str] | None = None, exclude: Collection[str] | None = None
) -> Json:
    """The agent by MIME type: as text, and as SVG or, without the layout engine, as Mermaid, which JupyterLab draws."""
    picture = picture_of(agent)
    forms: dict[str, Callable[[], str]] = {"text/plain": lambda: outline(picture)}
    if can_lay_out():
        forms["image/svg+xml"] = lambda: svg(picture)
    else:
        forms["text/vnd.mermaid"] = lambda: mermaid(picture)
    names = [form for form in forms if (not include or form in include) and form not in (exclude or ())]
    return {form: forms[form]() for form in names}
