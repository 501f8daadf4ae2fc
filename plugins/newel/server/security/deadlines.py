"""Deadlines: uvicorn's connections, closed if the head of a request does not come in time.

uvicorn waits for the first request of a connection, and for the rest of one that has begun, for as long as it takes.
"""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from uvicorn.protocols.http.h11_impl import H11Protocol as _Protocol
elif find_spec("httptools") is not None:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as _Protocol
else:
    from uvicorn.protocols.http.h11_impl import H11Protocol as _Protocol


_DETAIL = b'{"detail":"the rest of the request did not come"}'
_LATE = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: application/json\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%b" % (len(_DETAIL), _DETAIL)
)


class Deadlines(_Protocol):
    """A connection whose requests must begin, and whose heads must end, within `seconds`."""

    seconds = 15.0
    _timer: asyncio.TimerHandle | None = None
    #: Whether anything came since the last request was complete.
    _has_begun = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The first request must come."""
        super().connection_made(transport)
        self._await_request()

    def data_received(self, data: bytes) -> None:
        """A head, or a part of one, or of a body."""
        self._has_begun = True
        super().data_received(data)
        self._await_request()

    def on_response_complete(self) -> None:
        """The next request must come: a part of it may have come with the one that is answered."""
        super().on_response_complete()
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more comes."""
        self._stop()
        super().connection_lost(exc)

    def _answers(self) -> bool:
        """Whether a request is complete enough to be answered; if its body is not there, the app waits for it."""
        cycle = cast("Any", self.cycle)
        return cycle is not None and not cycle.response_complete

    def _await_request(self) -> None:
        if self._answers():
            self._has_begun = False
            self._stop()
        elif self._timer is None:
            self._timer = self.loop.call_later(self.seconds, self._close_idle)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close_idle(self) -> None:
        self._timer = None
        transport = self.transport
        if not transport.is_closing() and transport.get_protocol() is self and not self._answers():
            if self._has_begun:
                transport.write(_LATE)
            transport.close()


def protocol(seconds: float) -> type[asyncio.Protocol]:
    """The class of connections with that deadline. The usual one can be pickled, for further processes."""
    return Deadlines if seconds == Deadlines.seconds else type("Connection", (Deadlines,), {"seconds": seconds})
