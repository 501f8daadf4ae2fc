"""Admission: no more runs than the server can carry, and no new one while it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel.server.operations.load import DRAINING, LOAD, RETRY_AFTER
from newel.server.security.answers import refuse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from newel.server.options import Options

#: The paths that run an agent.
RUNS = frozenset({"/run", "/run_sse", "/run_live"})


class Admission:
    """Refuses a run that is one too many with 429, and any run with 503 once the server is about to end."""

    def __init__(self, app: ASGIApp, options: Options) -> None:
        self._app = app
        self._most = options.max_runs
        self._running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or scope["path"].removeprefix(scope.get("root_path", "")) not in RUNS:
            await self._app(scope, receive, send)
            return
        if LOAD.draining and not _follows(scope):
            await refuse(scope, send, 503, DRAINING, [(b"retry-after", RETRY_AFTER.encode())])
            return
        if self._running >= self._most:
            text = f"{self._most} runs are under way: try again, or start the server with a larger --max-runs"
            await refuse(scope, send, 429, text, [(b"retry-after", b"1")])
            return
        self._running += 1
        LOAD.runs += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._running -= 1
            LOAD.runs -= 1


def _follows(scope: Scope) -> bool:
    """Whether a request comes back to a run, and starts none."""
    return any(name == b"last-event-id" for name, _ in scope["headers"])
