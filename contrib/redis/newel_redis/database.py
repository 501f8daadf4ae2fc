"""CachedDatabase: a store's database that takes the first events of sessions from a cache, if the cache has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar, cast

from newel.sessions.stored.changes import Listener
from newel.sessions.stored.database import Database
from newel.sessions.stored.reads import Head, Tail
from newel.sessions.stored.rows import Data, EventRows
from newel.sessions.stored.steps import Read, Write
from newel.sessions.stored.writes import Delete
from newel_redis import chunks
from newel_redis.cache import Cache
from newel_redis.chunks import Beginning, beginning, joined, key_of, written

T = TypeVar("T")
#: How many chunks are requested at once.
_AT_ONCE = 32


class CachedDatabase:
    """A `Database` in front of `inner`, which takes all writes and says what a session's version is.

    Events never change, so those up to a version may come from anywhere, if they are the right ones. The last event in
    the cache is read from the database, too: if it is the same there, so are all before it.
    """

    def __init__(self, inner: Database, cache: Cache, prefix: str) -> None:
        self._inner = inner
        self._cache = cache
        self._prefix = prefix

    async def read(self, question: Read[T]) -> T:
        """See `Database`."""
        if not isinstance(question, Tail) or question.first or question.since is not None:
            return await self._inner.read(question)
        if question.version <= chunks.SIZE:
            return await self._inner.read(question)
        return cast(T, await self._events(question))

    async def commit(self, write: Write[T], then: Callable[[T], object] | None = None) -> T:
        """See `Database`."""
        if not isinstance(write, Delete):
            return await self._inner.commit(write, then)
        row = await self._inner.read(Head(write.key))
        result = await self._inner.commit(write, then)
        if row is not None:
            count = row.version // chunks.SIZE
            await self._cache.forget([key_of(self._prefix, row.number, chunk) for chunk in range(count)])
        return result

    def send(self, write: Write[object]) -> None:
        """See `Database`."""
        self._inner.send(write)

    async def vacuum(self) -> None:
        """See `Database`."""
        await self._inner.vacuum()

    async def backup(self, target: str) -> None:
        """See `Database`."""
        await self._inner.backup(target)

    def listener(self, wake: Callable[[int], object]) -> Listener | None:
        """See `Database`."""
        return self._inner.listener(wake)

    async def close(self) -> None:
        """See `Database`."""
        try:
            await self._cache.close()
        finally:
            await self._inner.close()

    async def _events(self, tail: Tail) -> EventRows:
        start = await self._beginning(tail)
        if count := len(start.events):
            rows = await self._inner.read(replace(tail, first=count - 1))
            if rows and rows[0][0] == count - 1 and _bytes(rows[0][1]) == start.events[-1]:
                self._keep(tail, start, rows[1:])
                return [*enumerate(start.events[:-1]), *rows]
        rows = await self._inner.read(tail)
        self._keep(tail, beginning(self._prefix, tail.number), rows)
        return rows

    async def _beginning(self, tail: Tail) -> Beginning:
        """The first events of the session as far as the cache has them, in whole chunks."""
        start = beginning(self._prefix, tail.number)
        keys = [key_of(self._prefix, tail.number, chunk) for chunk in range(tail.version // chunks.SIZE)]
        for at in range(0, len(keys), _AT_ONCE):
            for chunk in await self._cache.read(keys[at : at + _AT_ONCE]):
                further = joined(start, chunk) if chunk is not None else None
                if further is None:
                    return start
                start = further
        return start

    def _keep(self, tail: Tail, start: Beginning, rows: EventRows) -> None:
        """Write the chunks that the cache lacks, unless the database itself lacks events."""
        if len(start.events) + len(rows) == tail.version:
            entries = dict(written(start, [_bytes(data) for _, data in rows]))
            if entries:
                number = tail.number
                self._cache.write({key_of(self._prefix, number, at): data for at, data in entries.items()})


def _bytes(data: Data) -> bytes:
    return data.encode() if isinstance(data, str) else bytes(data)
