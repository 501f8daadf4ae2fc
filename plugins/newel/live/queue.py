"""LiveRequestQueue: the input of a caller, or of a streaming tool, for a live session, in order."""

from __future__ import annotations

import asyncio
from collections import deque

from newel_kernel import ConfigurationError, Json
from newel_types import ActivityEnd, ActivityStart, Blob, Content, LiveClientRealtimeInput, WireModel, coerce


class LiveRequest(WireModel):
    """One input: a content, a piece of audio or an image, a mark of activity, or the end.

    Of several, the first of `activity_start`, `activity_end`, `audio_stream_end` and `blob` is sent, and `content`
    as well. If `close` is set, nothing else counts.
    """

    content: Content | None = None
    blob: Blob | None = None
    activity_start: ActivityStart | None = None
    activity_end: ActivityEnd | None = None
    #: The microphone is off: what was heard so far is complete.
    audio_stream_end: bool = False
    close: bool = False
    #: The content is a part of the user's turn: more follows before the model answers. It is not stored.
    partial: bool = False
    #: Changes of the session's state, stored with the content's event, or with one of their own.
    state_delta: Json | None = None

    @property
    def realtime_input(self) -> LiveClientRealtimeInput | None:
        """The piece of audio or video as the live protocol wraps it, or None."""
        return None if self.blob is None else LiveClientRealtimeInput(media_chunks=[self.blob])


class _Items(deque[LiveRequest | Blob]):
    """The waiting inputs: requests, and blobs on their own (most of them)."""

    def qsize(self) -> int:
        """The number of requests that wait."""
        return len(self)


class LiveRequestQueue:
    """Any number of writers, one reader. It may be made, and written to, before an event loop runs."""

    def __init__(self) -> None:
        self._queue = _Items()
        self._reader: asyncio.Future[None] | None = None
        self._run: object = None
        self._closed = False
        self._limit = 0
        self._audio = 0
        #: How many pieces of audio were dropped because they were not read in time.
        self.dropped = 0

    @property
    def closed(self) -> bool:
        """Whether `close` was called, even if the reader has not got that far."""
        return self._closed

    def send(self, request: LiveRequest) -> None:
        """Append a request."""
        self._closed = self._closed or request.close
        self._put(request)

    def send_content(self, content: Content, partial: bool = False) -> None:
        """A turn of the conversation, text or tool results; with `partial` a part of one."""
        self._put(LiveRequest(content=content, partial=partial))

    def send_realtime(self, blob: Blob) -> None:
        """A piece of audio (``audio/pcm;rate=16000``) or an image (``image/jpeg``)."""
        self._put(blob if blob.__class__ is Blob else coerce(Blob, blob))

    def send_activity_start(self) -> None:
        """The user begins to speak; for sessions that do not detect it themselves."""
        self._put(LiveRequest(activity_start=ActivityStart()))

    def send_activity_end(self) -> None:
        """The user has stopped speaking."""
        self._put(LiveRequest(activity_end=ActivityEnd()))

    def send_audio_stream_end(self) -> None:
        """The microphone is off: the service takes what it has heard so far as complete."""
        self._put(LiveRequest(audio_stream_end=True))

    def close(self) -> None:
        """Nothing comes after this."""
        self._closed = True
        self._put(LiveRequest(close=True))

    async def get(self) -> LiveRequest | None:
        """The next request; waits for one."""
        item = await self.take()
        return item if isinstance(item, LiveRequest) else LiveRequest(blob=item)

    async def take(self) -> LiveRequest | Blob:
        """The same for the runtime: a blob on its own is returned unchanged."""
        while (item := self.pop()) is None:
            await self.arrival()
        return item

    def pop(self) -> LiveRequest | Blob | None:
        """The oldest waiting input, as `take` returns it; None: nothing waits."""
        if not self._queue:
            return None
        item = self._queue.popleft()
        if self._limit and isinstance(item, Blob):
            self._audio -= len(item.data or b"")
        return item

    def arrival(self) -> asyncio.Future[None]:
        """A future to await when nothing waits: it is done when an input may be there."""
        self._reader = asyncio.Future()
        return self._reader

    def claim(self, run: object, limit: int = 0) -> None:
        """`run` reads it from now on; it keeps at most `limit` bytes of audio, dropping the oldest (0: no limit)."""
        if self._run is not None and self._run is not run:
            raise ConfigurationError(
                "the live_request_queue is read by another run: make a LiveRequestQueue for each run_live, or wait "
                "until that run has ended"
            )
        self._run, self._limit = run, limit
        self._audio = sum(len(one.data or b"") for one in self._queue if isinstance(one, Blob)) if limit else 0
        self._trim()

    def release(self, run: object) -> None:
        """`run` has ended, and reads it no longer."""
        if self._run is run:
            self._run = None

    def _put(self, item: LiveRequest | Blob) -> None:
        self._queue.append(item)
        if self._limit and isinstance(item, Blob):
            self._audio += len(item.data or b"")
            if self._audio > self._limit:
                self._trim()
        if (reader := self._reader) is not None:
            self._reader = None
            if not reader.done():  # else the reader was cancelled
                reader.set_result(None)

    def _trim(self) -> None:
        if self._audio <= self._limit:
            return
        items = _Items()
        for item in self._queue:
            if self._audio > self._limit and 0 < _size(item) <= self._limit:  # the reader refuses a larger one
                self._audio -= _size(item)
                self.dropped += 1
            else:
                items.append(item)
        self._queue = items


def _size(item: LiveRequest | Blob) -> int:
    """The bytes of a piece of audio; 0 of all else, which is never dropped."""
    return len(item.data or b"") if isinstance(item, Blob) and not (item.mime_type or "").startswith("image/") else 0


class ToolStream(LiveRequestQueue):
    """The queue that a streaming tool reads: at its end, and from then on, it gives None."""

    def __init__(self) -> None:
        super().__init__()
        self._ended = False

    async def get(self) -> LiveRequest | None:
        """The next request, or None once the stream is closed."""
        if self._ended:
            return None
        request = await super().get()
        self._ended = request is None or request.close
        return None if self._ended else request
