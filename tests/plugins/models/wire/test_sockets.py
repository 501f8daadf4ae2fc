"""The sockets that SDKs open for live sessions."""

from __future__ import annotations

import asyncio
from socket import SO_RCVBUF, SOL_SOCKET
from typing import Any

from websockets.asyncio.client import connect
from websockets.asyncio.server import serve

from newel.models.wire.limits import Limits
from newel.models.wire.sockets import RECEIVE_BUFFER, socket_options


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
