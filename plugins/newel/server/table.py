"""The table of the built-in routes; the endpoints load with the server."""

from __future__ import annotations

from newel.server.kinds import Route
from newel_types import deferred

ROUTES = [
    Route(name="health", path="/health", load=deferred("newel.server.endpoints.service", "health")),
    Route(name="version", path="/version", load=deferred("newel.server.endpoints.service", "version")),
    Route(name="openapi", path="/openapi.json", load=deferred("newel.server.endpoints.documents", "openapi")),
    Route(name="docs", path="/docs", load=deferred("newel.server.endpoints.documents", "docs")),
    Route(name="list_apps", path="/list-apps", load=deferred("newel.server.endpoints.apps", "list_apps")),
]
