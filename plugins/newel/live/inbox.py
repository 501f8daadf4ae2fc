"""Inbox: what was read ahead of the consumer, in order, within bounds; and events that others leave."""

from __future__ import annotations

import asyncio
from collections import deque

from newel_kernel import Event, LlmResponse
from newel_types import Content


class Left:
    """An event that a task left to be committed and yielded, and what the task waits for."""

    __slots__ = ("committed", "event")

    def __init__(self, event: Event) -> None:
        self.event = event
        self.committed: asyncio.Future[None] = asyncio.get_running_loop().create_future()


class End:
    """Nothing more comes; `error` says why, where something is wrong."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


class Answered:
    """The user has answered a question of the framework's: the call behind it is to run."""

    __slots__ = ("content",)

    def __init__(self, content: Content) -> None:
        self.content = content


Item = LlmResponse | Left | Answered | End


class Inbox:
    """One reader; a connection writes its responses, and waits where there is no room for more."""

    __slots__ = ("_arrived", "_bytes", "_items", "_most", "_most_bytes", "_room")

    def __init__(self, most: int, most_bytes: int) -> None:
        self._items: deque[tuple[Item, int]] = deque()
        self._most = most
        self._most_bytes = most_bytes
        self._bytes = 0
        self._arrived: asyncio.Future[None] | None = None
        self._room: asyncio.Future[None] | None = None

    async def take(self) -> Item:
        """What is next; waits for it."""
        while not self._items:
            self._arrived = asyncio.get_running_loop().create_future()
            try:
                await self._arrived
            finally:
                self._arrived = None
        item, size = self._items.popleft()
        self._bytes -= size
        if self._room is not None and not self._room.done():
            self._room.set_result(None)
        return item

    def put(self, response: LlmResponse, size: int) -> bool:
        """Append a response with `size` bytes of media; whether there is room for a further one."""
        self._append(response, size)
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
        left = Left(event)
        self._append(left, 0)
        await left.committed

    def answered(self, content: Content) -> None:
        """Say that the user has answered a question."""
        self._append(Answered(content), 0)

    def end(self, error: BaseException | None = None) -> None:
        """Say that nothing more comes."""
        self._append(End(error), 0)

    def drop_audio(self) -> None:
        """Forget the responses that wait and hold nothing but media."""
        kept = [(item, size) for item, size in self._items if not size]
        self._bytes = 0
        self._items.clear()
        self._items.extend(kept)

    def close(self) -> None:
        """The reader is gone: whoever waits for it is cancelled."""
        for item, _ in self._items:
            if isinstance(item, Left):
                item.committed.cancel()
        self._items.clear()

    def _append(self, item: Item, size: int) -> None:
        self._items.append((item, size))
        self._bytes += size
        if self._arrived is not None and not self._arrived.done():
            self._arrived.set_result(None)


def media_size(response: LlmResponse) -> int:
    """The bytes of media in the response; 0 where it holds anything else as well."""
    content = response.content
    total = 0
    for part in (content.parts or ()) if content is not None else ():
        blob = part.inline_data
        if blob is None:
            return 0
        total += len(blob.data or b"") or 1
    return total
