"""What a local live service notes of its clients."""

from __future__ import annotations

import asyncio

import pytest

from newel_kernel import Json
from newel_testkit.live import Connection, OpenAIRealtimeServer
from newel_testkit.live.bench import Bench, user
from newel_testkit.live.dialects import OpenAIDialect


class _Slow(OpenAIRealtimeServer):
    """It reads on only when the client has gone."""

    async def react(self, connection: Connection, kind: str, message: Json) -> None:
        if kind != "session.update":
            await connection.socket.wait_closed()
        await super().react(connection, kind, message)


class _SlowDialect(OpenAIDialect):
    def server(self) -> OpenAIRealtimeServer:
        return _Slow(api_key=self.key)


def test_what_a_client_sent_before_it_left_is_in_the_log_once_the_server_has_settled() -> None:
    """Also what the server would have answered."""

    async def say(bench: Bench, *words: str) -> None:
        async with asyncio.timeout(120), bench.connected() as connection:
            for one in words:
                await connection.send_content(user(one))

    dialect = _SlowDialect()
    with dialect.serving() as server:
        asyncio.run(say(Bench(dialect, server), "one", "two", "three"))
        server.settle()
        [connection] = server.connections
        assert len(connection.of("conversation.item.create")) == 3
        assert connection.ended == (1000, "")


def test_a_client_that_stays_is_named() -> None:
    async def run(bench: Bench) -> None:
        async with asyncio.timeout(120), bench.connected():
            with pytest.raises(TimeoutError, match="client of connection 0 has not left it in 0 s"):
                bench.server.settle(0)

    dialect = OpenAIDialect()
    with dialect.serving() as server:
        asyncio.run(run(Bench(dialect, server)))
        server.settle()
