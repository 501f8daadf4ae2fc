"""Connection: one client of a live service, as the service sees it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from websockets.asyncio.server import ServerConnection

from newel_kernel import Json
from newel_testkit.live.steps import Step

#: What a script is made of: a message of the service, or something that it does.
ScriptStep: TypeAlias = Json | Step


@dataclass(eq=False)
class Connection:
    """What a client sent, what it was sent, and how it ended. Its script holds the steps still to come."""

    number: int
    path: str
    headers: Mapping[str, str] = field(repr=False)
    socket: ServerConnection = field(repr=False)
    #: Completes each message as the protocol asks, with ids for example.
    prepare: Callable[[Connection, Json], Json] = field(repr=False)
    script: deque[ScriptStep] = field(default_factory=deque)
    #: Messages go out in binary frames.
    binary: bool = False
    #: Kind and message, in the order of arrival; past the server's bound they are only counted.
    received: list[tuple[str, Json]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    #: How many frames were sent.
    sent: int = 0
    #: Why messages of the client were refused.
    refused: list[str] = field(default_factory=list)
    #: Code and reason of the end; 1006 if no close frame came.
    ended: tuple[int, str] | None = None
    stalled: bool = False
    #: What the protocol notes.
    state: Json = field(default_factory=dict)
    #: Set whenever something has arrived.
    changed: asyncio.Event = field(default_factory=asyncio.Event, repr=False)
    #: How many messages of a kind the script has waited for.
    waited: Counter[str] = field(default_factory=Counter, repr=False)
    #: Set once everything that the client sent was read, and `ended` says how it left.
    over: threading.Event = field(default_factory=threading.Event, repr=False)

    def of(self, kind: str) -> list[Json]:
        """The messages of a kind."""
        return [message for one, message in self.received if one == kind]

    async def send(self, message: Json) -> None:
        """Send a message of a script."""
        text = json.dumps(self.prepare(self, message))
        await self.send_frame(text.encode() if self.binary else text)

    async def send_frame(self, frame: str | bytes) -> None:
        """Send a frame unchanged."""
        self.sent += 1
        await self.socket.send(frame)

    async def until(self, kind: str, total: int, seconds: float) -> bool:
        """Wait for the client's message number `total` of a kind; False if it does not come in time."""
        try:
            async with asyncio.timeout(seconds):
                while self.counts[kind] < total:
                    self.changed.clear()
                    await self.changed.wait()
        except TimeoutError:
            return False
        return True
