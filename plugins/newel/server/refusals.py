"""Refusals: what a request that cannot be served is answered. The text of an unforeseen error stays in the log."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

from pydantic import ValidationError
from pydantic_core import to_json
from starlette.responses import Response
from starlette.websockets import WebSocket

from newel.claims import SessionBusyError
from newel.engines.answers import AnsweredBeforeError, RunIsOverError
from newel.engines.endings import RunMisfitError, RunOvertimeError
from newel.engines.engine import EngineUnavailableError, SpecRefusedError
from newel.runs import RunCancelledError, RunRefusedError
from newel.sessions.errors import StoreUnavailableError, UnfitNameError
from newel_kernel import AlreadyExistsError, SessionNotFoundError, StaleSessionError, seam

JSON = "application/json"
#: What a server of stored sessions answers to a request that writes.
READ_ONLY = (
    "this server shows stored sessions, and changes nothing: to write, serve the agents with "
    "`newel web AGENTS_DIR --sessions URI`"
)
#: (error, status, what is wrong); without a text, the error's own says it.
_REFUSALS: tuple[tuple[type[Exception], int, str], ...] = (
    (UnfitNameError, 422, ""),
    (AnsweredBeforeError, 409, ""),  # these two are SpecRefusedErrors, too
    (RunIsOverError, 409, ""),
    (SpecRefusedError, 422, ""),
    (SessionNotFoundError, 404, "Session not found"),
    (AlreadyExistsError, 409, "Session already exists"),
    (StaleSessionError, 409, "A run of another process has changed the session: try again"),
    (SessionBusyError, 409, "The session has a run under way"),
    (RunCancelledError, 409, ""),
    (RunMisfitError, 503, ""),
    (RunOvertimeError, 504, ""),
)
_log = logging.getLogger("newel.server")


class Refusal(Exception):
    """A request is answered with an error: its status, and what is wrong with it."""

    def __init__(
        self, status: int, detail: str | Sequence[Mapping[str, Any]], headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = headers


def response_to(error: Exception) -> Response:
    """The answer to a request that an error has ended."""
    refusal = refusal_of(error)
    if refusal is not None:
        return Response(to_json({"detail": refusal.detail}), refusal.status, refusal.headers, JSON)
    return Response(to_json(logged(error)), 500, media_type=JSON)


async def deny(websocket: WebSocket, error: Exception) -> None:
    """Answer a WebSocket that is not accepted with what is wrong; a server that cannot says 403."""
    try:
        await websocket.send_denial_response(response_to(error))
    except RuntimeError:
        await websocket.close()


def refusal_of(error: Exception) -> Refusal | None:
    """The refusal that an error means, or None if it is a failure of the server."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, RunRefusedError):
        return Refusal(429 if error.is_full else 503, str(error), {"retry-after": str(error.retry_after)})
    if isinstance(error, (StoreUnavailableError, EngineUnavailableError)):
        what = "The sessions" if isinstance(error, StoreUnavailableError) else "The engine of the runs"
        return Refusal(503, f"{what} cannot be reached: try again", {"retry-after": str(ceil(error.retry_after))})
    for kind, status, text in _REFUSALS:
        if isinstance(error, kind):
            return Refusal(status, text or str(error))
    return None


def invalid(error: ValidationError, *place: str) -> Refusal:
    """What is wrong with a body or a query, field by field; `place` begins each location."""
    fields = error.errors(include_url=False, include_context=False, include_input=False)
    return Refusal(422, [{**field, "loc": [*place, *field["loc"]]} for field in fields])


def logged(error: Exception) -> dict[str, str]:
    """Log an unforeseen error under a reference; the answer has the reference alone."""
    ref = seam.new_id().replace("-", "")[:12]
    _log.error("request failed (ref %s)", ref, exc_info=error)
    return {"detail": "Internal Server Error", "ref": ref}
