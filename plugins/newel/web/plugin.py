"""The plugin `web`: the kind of its panels, the routes of the page, and two panels as a stranger's would be."""

from __future__ import annotations

from newel.server.kinds import Route
from newel.web import kinds
from newel.web.kinds import WebPanel
from newel_kernel import Descriptor, Kind, hookimpl
from newel_types import deferred


@hookimpl
def register_kinds() -> list[Kind[Descriptor]]:
    """The tabs that plugins add, and what masks an exported page."""
    return [Kind(kinds.WebPanel, kinds.register_web_panels), Kind(kinds.Redaction, kinds.register_redactions)]


@hookimpl
def register_routes() -> list[Route]:
    """The page, its files and the panels of plugins."""
    return [
        Route(name="web_page", path="/web/", load=deferred("newel.web.files", "page"), development=True),
        Route(name="web_file", path="/web/{name:path}", load=deferred("newel.web.files", "file"), development=True),
        Route(
            name="list_web_panels", path="/web/panels", load=deferred("newel.web.panels", "panels"), development=True
        ),
        Route(
            name="web_panel", path="/web/panels/{name}", load=deferred("newel.web.panels", "panel"), development=True
        ),
    ]


@hookimpl
def register_web_panels() -> list[WebPanel]:
    """The memory of a user, and two sessions side by side."""
    return [
        WebPanel(
            name="memory",
            title="Memory",
            element="newel-memory",
            source=lambda: _element("newel-memory", "memory"),
            line="what the agent would find about the user, over all sessions.",
            needs_agent=True,
        ),
        WebPanel(
            name="compare",
            title="Compare",
            element="newel-compare",
            source=lambda: _element("newel-compare", "compare"),
            line="another session of this agent, and the first event that differs.",
        ),
    ]


def _element(name: str, module: str) -> str:
    """A module that defines an element with a panel of the page in it."""
    return (
        f'import {{ define }} from "../js/element.js";\n'
        f'import Panel from "../js/panels/{module}.js";\n'
        f'define("{name}", Panel);\n'
    )
