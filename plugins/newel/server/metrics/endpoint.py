"""The endpoint of the metrics."""

from __future__ import annotations

from starlette.responses import Response

from newel.server.calls import Call, endpoint
from newel.server.metrics.process import METRICS


@endpoint(media_type="text/plain")
async def metrics(call: Call) -> Response:
    """The metrics of this process, in Prometheus' text format."""
    text = METRICS.text(call.server.running())
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")
