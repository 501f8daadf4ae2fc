"""The endpoints of operations: whether work may come here."""

from __future__ import annotations

from starlette.responses import Response

from newel.server.calls import Call, endpoint
from newel.server.operations.readiness import READINESS, Readiness, ReadyAnswer
from newel.server.refusals import JSON


@endpoint(answer=ReadyAnswer, others={503: ReadyAnswer})
async def ready(call: Call) -> Response:
    """Whether work may come here: the server is not about to end, its stores answer, and its apps can be loaded."""
    stash = call.server.stash
    if READINESS not in stash:
        stash[READINESS] = Readiness(call.server)
    status, answer = await stash[READINESS].look()
    return Response(answer.model_dump_json(exclude_none=True), status, media_type=JSON)
