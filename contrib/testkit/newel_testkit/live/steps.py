"""Steps: what a script of a live service does in addition to sending messages, its faults among them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from newel_kernel import Json

if TYPE_CHECKING:
    from newel_testkit.live.connection import Connection

#: After how many messages a flood lets other tasks run.
_BURST = 64


class ScriptError(Exception):
    """A script cannot go on; the text says why."""


class Step(Protocol):
    """Something that a service does."""

    async def play(self, connection: Connection) -> None:
        """Perform the step."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Go on once the client has sent `n` more messages of `kind`."""

    kind: str
    n: int = 1
    seconds: float = 10.0

    async def play(self, connection: Connection) -> None:
        """See `Step`."""
        goal = connection.waited[self.kind] + self.n
        if not await connection.until(self.kind, goal, self.seconds):
            have = connection.counts[self.kind]
            raise ScriptError(f"waited {self.seconds} s for {self.kind} number {goal}, and has {have}")
        connection.waited[self.kind] = goal


@dataclass(frozen=True, slots=True)
class Pause:
    """Send nothing for a while, but keep reading."""

    seconds: float

    async def play(self, connection: Connection) -> None:
        """See `Step`."""
        await asyncio.sleep(self.seconds)


@dataclass(frozen=True, slots=True)
class Stall:
    """Neither read nor write from here on. The socket stays open, and pings are not answered."""

    async def play(self, connection: Connection) -> None:
        """See `Step`."""
        connection.stalled = True
        connection.socket.transport.pause_reading()


@dataclass(frozen=True, slots=True)
class Drop:
    """Cut the transport without a close frame; the client sees 1006."""

    async def play(self, connection: Connection) -> None:
        """See `Step`."""
        connection.ended = (1006, "dropped by the server")
        connection.socket.transport.abort()


@dataclass(frozen=True, slots=True)
class Close:
    """Close with a code."""

    code: int = 1000
    reason: str = ""

    async def play(self, connection: Connection) -> None:
        """See `Step`."""
        connection.ended = (self.code, self.reason)
        await connection.socket.close(self.code, self.reason)


@dataclass(frozen=True, slots=True)
class Raw:
    """Send exactly this frame, well-formed or not."""

    frame: str | bytes

    async def play(self, connection: Connection) -> None:
        """See `Step`."""
        await connection.send_frame(self.frame)


@dataclass(frozen=True, slots=True)
class Flood:
    """Send `n` messages, `every` seconds apart; 0: as fast as the socket takes them."""

    make: Callable[[int], Json]
    n: int
    every: float = 0.0

    async def play(self, connection: Connection) -> None:
        """See `Step`."""
        start = time.monotonic()
        for number in range(self.n):
            await connection.send(self.make(number))
            if self.every:
                await asyncio.sleep(max(0.0, start + (number + 1) * self.every - time.monotonic()))
            elif number % _BURST == 0:
                await asyncio.sleep(0)
