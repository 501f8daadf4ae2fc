"""The sockets that SDKs open for live sessions."""

from __future__ import annotations

import asyncio
from socket import SO_RCVBUF, SOL_SOCKET
from typing import Any

from websockets.asyncio.client import connect
from websockets.asyncio.server import serve

from newel.models.wire.limits import Limits
from newel.models.wire.service import Service
from newel.models.wire.sockets import RECEIVE_BUFFER, LiveSocket, socket_options


def test_the_system_keeps_little_of_what_nobody_has_read() -> None:
    async def run() -> int:
        async def listen(socket: Any) -> None:
            await socket.wait_closed()

        async with serve(listen, "127.0.0.1", 0) as server:
            port = next(iter(server.sockets)).getsockname()[1]
            async with connect(f"ws://127.0.0.1:{port}", **socket_options(Limits(), 1 << 20)) as socket:
                size: int = socket.transport.get_extra_info("socket").getsockopt(SOL_SOCKET, SO_RCVBUF)
                return size

    assert asyncio.run(run()) <= 2 * RECEIVE_BUFFER  # Linux tells twice the number, for its own notes


def test_what_was_sent_before_our_closing_arrived_is_read() -> None:
    async def run() -> list[bytes]:
        async def talk(socket: Any) -> None:
            await socket.recv()
            for word in ("one", "two", "three"):
                await socket.send(word)
            await socket.wait_closed()

        async with serve(talk, "127.0.0.1", 0) as server:
            port = next(iter(server.sockets)).getsockname()[1]
            async with connect(f"ws://127.0.0.1:{port}", **socket_options(Limits(), 1 << 20)) as socket:
                live = LiveSocket(socket, Service("x", "m"), 1, 1 << 20)  # type: ignore[arg-type]  # it is one
                await live.send("hello")
                read = [await live.recv()]
                await live.close()
                while (frame := await live.recv()) is not None:
                    read.append(frame)
                assert await live.recv() is None
                return [frame for frame in read if isinstance(frame, bytes)]

    assert asyncio.run(run()) == [b"one", b"two", b"three"]
