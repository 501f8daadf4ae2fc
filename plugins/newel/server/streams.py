"""Streams: server-sent events to one client, with a sign of life in silence and news of the client that has left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from starlette.background import BackgroundTask
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from newel_kernel import seam

Frames = AsyncGenerator[bytes, None]
_SILENCE = b": waiting\n\n"
_END = b": end\n\n"


class EventStream(Response):
    """A response of frames; `left` is called if the client leaves before the last one, `first` after the first."""

    media_type = "text/event-stream"

    def __init__(
        self,
        frames: Frames,
        heartbeat: float,
        left: Callable[[], object],
        headers: dict[str, str] | None = None,
        first: Callable[[], object] | None = None,
    ) -> None:
        self.status_code = 200
        self.background: BackgroundTask | None = None
        self.init_headers({"cache-control": "no-cache", "x-accel-buffering": "no", **(headers or {})})
        self._frames = frames
        self._heartbeat = heartbeat
        self._left = left
        self._first = first
        self._is_sending = self._has_left = False
        self._sent_at = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the frames, and the comment that ends them."""
        me = asyncio.current_task()
        assert me is not None
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        watch = seam.spawn(self._watch(receive, send, me))
        try:
            async with aclosing(self._frames) as frames:
                async for data in frames:
                    await self._send(send, data)
                    if self._first is not None:
                        self._first()
                        self._first = None
            await send({"type": "http.response.body", "body": _END, "more_body": False})
        except asyncio.CancelledError:
            self._left()
            if not self._has_left or me.uncancel() > 0:
                raise
        finally:
            watch.cancel()

    async def _send(self, send: Send, data: bytes) -> None:
        self._is_sending, self._sent_at = True, seam.monotonic()
        await send({"type": "http.response.body", "body": data, "more_body": True})
        self._is_sending = False

    async def _watch(self, receive: Receive, send: Send, sending: asyncio.Task[object]) -> None:
        """Break the silence, until the client leaves; then end the task that sends."""
        self._sent_at = seam.monotonic()
        while True:
            patience = self._sent_at + self._heartbeat - seam.monotonic()
            if patience <= 0 and not self._is_sending:
                await self._send(send, _SILENCE)
                continue
            try:
                async with asyncio.timeout(patience if patience > 0 else self._heartbeat):
                    message = await receive()
            except TimeoutError:
                continue
            if message["type"] == "http.disconnect":
                self._has_left = True
                sending.cancel()
                return
