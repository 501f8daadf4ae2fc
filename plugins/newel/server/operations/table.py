"""The routes of operations; the endpoints load with the server."""

from __future__ import annotations

from newel.server.kinds import Route
from newel_types import deferred

OPERATIONS = [
    Route(name="ready", path="/ready", load=deferred("newel.server.operations.endpoints", "ready")),
]
