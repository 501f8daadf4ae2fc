"""Arrivals: which inputs have reached the other end of a socket, by its answers to pings.

Input that is on its way when a connection breaks is lost silently: the buffers of two machines hold seconds of sound.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from newel.models.wire.sockets import LiveSocket

#: The round-trip time, in seconds, that lets one more input be on its way: at least 200 inputs in a second.
_PACE = 0.005
_MOST = 64
_LONGEST, _EASE = 1.0, 1.05


class Arrivals:
    """Follows each input with a ping; few are on their way at a time. `arrived` gets the number that have arrived."""

    def __init__(self, socket: LiveSocket, arrived: Callable[[int], None]) -> None:
        self._socket = socket
        self._on_arrival = arrived
        self._sent = 0
        self._arrived = 0
        #: The round-trip time, about the least that was seen lately, in seconds.
        self._way = _LONGEST
        self._window = 1
        self._lost = False
        self._room: asyncio.Future[None] | None = None

    async def send(self, frames: Sequence[str]) -> None:
        """Send the frames of an input once there is room for it. Raises ConnectionLostError if the connection broke."""
        while self._sent - self._arrived >= self._window and not self._lost:
            self._room = asyncio.get_running_loop().create_future()
            try:
                await self._room
            finally:
                self._room = None
        pong = await self._socket.send_pinged(frames, (self._sent + 1).to_bytes(8))
        self._sent += 1
        pong.add_done_callback(partial(self._pong, self._sent))

    def _pong(self, number: int, pong: asyncio.Future[float]) -> None:
        self._lost = pong.cancelled() or pong.exception() is not None
        if not self._lost:
            self._arrived = max(self._arrived, number)
            self._way = min(pong.result(), self._way * _EASE)
            self._window = min(1 + int(self._way / _PACE), _MOST)
            self._on_arrival(self._arrived)
        if self._room is not None and not self._room.done():
            self._room.set_result(None)
