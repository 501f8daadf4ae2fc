"""CuttingProxy: stands before a database's server, and cuts the connection at the N-th message of either side."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

#: Reads one message, as bytes; the number counts those of this side of the connection, from 0.
Framing = Callable[[asyncio.StreamReader, int, bool], Awaitable[bytes]]


async def postgres(reader: asyncio.StreamReader, number: int, from_client: bool) -> bytes:
    """A client's first message has no letter; a length counts itself."""
    head = await reader.readexactly(4 if from_client and not number else 5)
    return head + await reader.readexactly(int.from_bytes(head[-4:], "big") - 4)


async def mysql(reader: asyncio.StreamReader, number: int, from_client: bool) -> bytes:
    """A length of three bytes, then the packet's number."""
    head = await reader.readexactly(4)
    return head + await reader.readexactly(int.from_bytes(head[:3], "little"))


class CuttingProxy:
    """The `at`-th message of all connections does not arrive, or half of it, and its connection ends.

    Where the server is `away`, no message after it arrives either.
    """

    def __init__(self, port: int, framing: Framing) -> None:
        self._port = port
        self._framing = framing
        self.own_port = 0
        self.disarm()

    def arm(self, at: int, kind: str) -> None:
        """Count anew."""
        self.messages, self._at, self._kind = 0, at, kind

    def disarm(self) -> bool:
        """Let everything through; whether a message was cut."""
        fired = self.fired
        self.messages, self._at, self._kind = 0, 0, ""
        return fired

    @property
    def fired(self) -> bool:
        """Whether a message was cut."""
        return 0 < self._at <= self.messages

    messages, _at, _kind = 0, 0, ""

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass on what both sides say."""
        there, back = await asyncio.open_connection("127.0.0.1", self._port)
        sides = writer, back
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pass(reader, back, sides, True))
                group.create_task(self._pass(there, writer, sides, False))
        finally:
            for side in sides:
                side.close()

    async def _pass(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        sides: tuple[asyncio.StreamWriter, ...],
        from_client: bool,
    ) -> None:
        number = 0
        try:
            while True:
                message = await self._framing(reader, number, from_client)
                number += 1
                self.messages += 1
                cut = self.messages == self._at or (self.fired and self._kind == "away")
                if cut and self._kind != "half":
                    break
                writer.write(message[: len(message) // 2] if cut else message)
                await writer.drain()
                if cut:
                    break
        except (asyncio.IncompleteReadError, OSError):
            pass
        for side in sides:
            side.close()


@asynccontextmanager
async def cutting_proxy(port: int, framing: Framing) -> AsyncIterator[CuttingProxy]:
    """A proxy before what listens at `port`, for as long as the block runs."""
    proxy = CuttingProxy(port, framing)
    tasks = set[asyncio.Task[None]]()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(proxy.connected(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    proxy.own_port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
