"""The endpoints of operations: whether work may come here."""

from __future__ import annotations

import asyncio

from pydantic import BaseModel
from pydantic_core import to_json
from starlette.responses import Response

from newel.server.calls import Call, endpoint
from newel.server.operations.load import LOAD
from newel.server.refusals import JSON, logged

_SECONDS = 5.0
_NOBODY = "newel-ready"


class Readiness(BaseModel):
    """Whether work may come here; if not, why."""

    status: str
    #: Where the server's log says more.
    ref: str | None = None


@endpoint(answer=Readiness, others={503: Readiness})
async def ready(call: Call) -> Response:
    """Whether work may come here: the server is not about to end, and its sessions can be reached."""
    status, answer = 200, {"status": "ready"}
    if LOAD.draining:
        status, answer = 503, {"status": "draining"}
    else:
        try:
            async with asyncio.timeout(_SECONDS):
                sessions = call.server.services.session
                await sessions.get_session(app_name=_NOBODY, user_id=_NOBODY, session_id=_NOBODY)
        except Exception as error:  # noqa: BLE001 - whatever keeps the store from answering
            status, answer = 503, {"status": "the sessions cannot be reached", "ref": logged(error)["ref"]}
    return Response(to_json(answer), status, media_type=JSON)
