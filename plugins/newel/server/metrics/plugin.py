"""The plugin `server_metrics`: the path `/metrics`. A server without it counts no runs."""

from __future__ import annotations

from newel.server.kinds import Route
from newel_kernel import hookimpl
from newel_types import deferred

#: The name of the route.
ROUTE = "metrics"


@hookimpl
def register_routes() -> list[Route]:
    """The route of the metrics."""
    return [Route(name=ROUTE, path="/metrics", load=deferred("newel.server.metrics.endpoint", "metrics"))]
