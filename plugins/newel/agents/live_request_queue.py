"""LiveRequestQueue: the input of a caller, or of a streaming tool, for a live session, in order."""

from __future__ import annotations

import asyncio

from newel_types import ActivityEnd, ActivityStart, Blob, Content, LiveClientRealtimeInput, WireModel


class LiveRequest(WireModel):
    """One input: a content, a piece of audio or video, a mark of activity, or the end."""

    content: Content | None = None
    blob: Blob | None = None
    activity_start: ActivityStart | None = None
    activity_end: ActivityEnd | None = None
    close: bool = False

    @property
    def realtime_input(self) -> LiveClientRealtimeInput | None:
        """The piece of audio or video as the live protocol wraps it, or None."""
        return None if self.blob is None else LiveClientRealtimeInput(media_chunks=[self.blob])


class LiveRequestQueue:
    """Any number of writers, one reader. It may be made, and written to, where no event loop runs yet."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[LiveRequest] = asyncio.Queue()

    def send(self, request: LiveRequest) -> None:
        """Append a request."""
        self._queue.put_nowait(request)

    def send_content(self, content: Content) -> None:
        """A turn of the conversation, text or tool results."""
        self.send(LiveRequest(content=content))

    def send_realtime(self, blob: Blob) -> None:
        """A piece of audio or video."""
        self.send(LiveRequest(blob=blob))

    def send_activity_start(self) -> None:
        """The user begins to speak; for sessions that do not detect it themselves."""
        self.send(LiveRequest(activity_start=ActivityStart()))

    def send_activity_end(self) -> None:
        """The user has stopped speaking."""
        self.send(LiveRequest(activity_end=ActivityEnd()))

    def close(self) -> None:
        """Nothing comes after this."""
        self.send(LiveRequest(close=True))

    async def get(self) -> LiveRequest | None:
        """The next request; waits for one."""
        return await self._queue.get()


class ToolStream(LiveRequestQueue):
    """The queue that a streaming tool reads: at its end, and from then on, it reads as None."""

    def __init__(self) -> None:
        super().__init__()
        self._closed = False

    async def get(self) -> LiveRequest | None:
        """The next request, or None once the stream is closed."""
        if self._closed:
            return None
        request = await super().get()
        self._closed = request is None or request.close
        return None if self._closed else request
