"""The contract of a database behind a durable store, and of the errors that it raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from newel.sessions.stored.changes import Listener
from newel.sessions.stored.steps import Read, Write

T = TypeVar("T")


class Database(Protocol):
    """Runs reads and writes with a driver. Its errors are SessionErrors that name the store and the remedy."""

    async def read(self, question: Read[T]) -> T:
        """The answer to `question`."""

    async def commit(self, write: Write[T], then: Callable[[T], object] | None = None) -> T:
        """The result of `write`, once it is durable; `then` is called with it, even if the caller is cancelled.

        A write under way cannot be taken back, so a cancellation waits for its end: a cancelled caller finds the
        session either without the event or with it. Writes of one session take turns: each begins once the events of
        the one before are in the log.
        """

    async def vacuum(self) -> None:
        """Give back the space of deleted data, while others read and write as far as the database lets them."""

    async def backup(self, target: str) -> None:
        """Write what is committed now into a new file; ConfigurationError if the database is not a file."""

    def send(self, write: Write[object]) -> None:
        """Commit `write` in the background; a failure is not reported."""

    def listener(self, wake: Callable[[int], object]) -> Listener | None:
        """What calls `wake` with the number of each session that another process changes; None: nothing can."""

    async def close(self) -> None:
        """Commit pending writes, and close. The database cannot be used afterwards."""
