"""Inbox: what was read ahead of the consumer, in order, within bounds; and events that tasks leave."""

from __future__ import annotations

import asyncio
from collections import deque

from newel_kernel import Event, LlmResponse
from newel_types import Content


class PendingEvent:
    """An event that a task left to be committed and yielded, and what the task waits for."""

    __slots__ = ("committed", "event")

    def __init__(self, event: Event) -> None:
        self.event = event
        self.committed: asyncio.Future[None] = asyncio.get_running_loop().create_future()


class End:
    """Nothing more comes; `error` says why, if something failed."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


class UserAnswer:
    """The user has answered a question of the framework's: the call behind it is to run."""

    __slots__ = ("content",)

    def __init__(self, content: Content) -> None:
        self.content = content


Item = LlmResponse | PendingEvent | UserAnswer | End


class Inbox:
    """One reader; a connection writes its responses, and waits if there is no room for more."""

    __slots__ = ("_arrived", "_bytes", "_items", "_most", "_most_bytes", "_room", "_sizes")

    def __init__(self, most: int, most_bytes: int) -> None:
        self._items: deque[Item] = deque()
        self._sizes: deque[int] = deque()  # of the items; pairs would be objects that the collector follows
        self._most = most
        self._most_bytes = most_bytes
        self._bytes = 0
        self._arrived: asyncio.Future[LlmResponse | None] | None = None
        self._room: asyncio.Future[None] | None = None

    def pop(self) -> Item | None:
        """The next item; None: nothing waits."""
        if not self._items:
            return None
        self._bytes -= self._sizes.popleft()
        if self._room is not None and not self._room.done():
            self._room.set_result(None)
        return self._items.popleft()

    def arrival(self) -> asyncio.Future[LlmResponse | None]:
        """A future to await when nothing waits: it gives a response, or None if an item may be there."""
        self._arrived = asyncio.Future()
        return self._arrived

    def hand(self, response: LlmResponse) -> bool:
        """Give a response to the reader, if it waits for one, without counting it; return whether it waited."""
        arrived = self._arrived
        if arrived is None or arrived.done():  # the reader was cancelled
            return False
        self._arrived = None
        arrived.set_result(response)
        return True

    def put(self, item: Item, size: int = 0) -> bool:
        """Append an item with `size` bytes of media; return whether there is room for another one."""
        self._items.append(item)
        self._sizes.append(size)
        self._bytes += size
        if (arrived := self._arrived) is not None:
            self._arrived = None
            if not arrived.done():  # else the reader was cancelled
                arrived.set_result(None)
        return self._bytes < self._most_bytes and len(self._items) < self._most

    async def room(self) -> None:
        """Wait until there is room."""
        while self._bytes >= self._most_bytes or len(self._items) >= self._most:
            self._room = asyncio.get_running_loop().create_future()
            try:
                await self._room
            finally:
                self._room = None

    async def leave(self, event: Event) -> None:
        """Leave an event; returns once it is committed and the consumer came back for more."""
        pending = PendingEvent(event)
        self.put(pending)
        await pending.committed

    def answered(self, content: Content) -> None:
        """Say that the user has answered a question."""
        self.put(UserAnswer(content))

    def end(self, error: BaseException | None = None) -> None:
        """Say that nothing more comes."""
        self.put(End(error))

    def drop_audio(self) -> None:
        """Forget the responses that wait and hold nothing but media."""
        self._items = deque(item for item, size in zip(self._items, self._sizes, strict=True) if not size)
        self._sizes = deque([0] * len(self._items))
        self._bytes = 0

    def transcripts(self) -> list[LlmResponse]:
        """The responses that wait and are the whole of something spoken."""
        waiting = [item for item in self._items if isinstance(item, LlmResponse) and not item.partial]
        return [item for item in waiting if item.input_transcription or item.output_transcription]

    def close(self) -> None:
        """The reader is gone: tasks that wait for it are cancelled."""
        for item in self._items:
            if isinstance(item, PendingEvent):
                item.committed.cancel()
        self._items.clear()
        self._sizes.clear()
        self._bytes = 0


def media_size(response: LlmResponse) -> int:
    """The bytes of media in the response; 0 if it holds anything else as well."""
    content = response.content
    total = 0
    for part in (content.parts or ()) if content is not None else ():
        blob = part.inline_data
        if blob is None:
            return 0
        total += len(blob.data or b"") or 1
    return total
