"""The contract of a database behind a durable store, and what its trouble is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from newel.sessions.stored.steps import Read, Write

T = TypeVar("T")


class Database(Protocol):
    """Runs reads and writes with a driver. Its errors are SessionErrors that name the store and the remedy."""

    async def read(self, question: Read[T]) -> T:
        """The answer."""

    async def commit(self, write: Write[T], then: Callable[[T], object] | None = None) -> T:
        """What `write` returns, once it is durable; `then` is called with it, also where the caller is cancelled.

        A write that is on its way cannot be called back, so a cancellation waits for its end: whoever is cancelled
        finds the session either without the event or with it. Writes of one session take turns, and what they add to
        its log is there when the next one begins.
        """

    async def vacuum(self) -> None:
        """Give back the room of what was deleted, while others read and write as the database lets them."""

    async def backup(self, target: str) -> None:
        """Write what is committed now into a new file; ConfigurationError where the database is no file."""

    def send(self, write: Write[object]) -> None:
        """Commit `write` without anybody waiting for it; where it fails, nobody hears."""

    async def close(self) -> None:
        """Commit what is on its way, and close. It cannot be used any more."""
