"""The plugin `web`: the routes of the page. A server without it answers `/` with its documentation."""

from __future__ import annotations

from newel.server.kinds import Route
from newel_kernel import hookimpl
from newel_types import deferred


@hookimpl
def register_routes() -> list[Route]:
    """The page and its files."""
    return [
        Route(name="web_page", path="/web/", load=deferred("newel.web.files", "page"), development=True),
        Route(name="web_file", path="/web/{name:path}", load=deferred("newel.web.files", "file"), development=True),
    ]
