"""Live runs over a WebSocket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.plugins.server.conftest import Serve
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from newel import Agent
from newel.models import BaseLlm, LlmRequest, LlmResponse
from newel.models.base_llm_connection import BaseLlmConnection
from newel.types import Content, Part

QUERY = "app_name=parrot&user_id=ann&session_id=s&modalities=TEXT"


class Line(BaseLlmConnection):
    """A live connection that repeats what it hears."""

    def __init__(self) -> None:
        self.heard: asyncio.Queue[str | None] = asyncio.Queue()

    async def send_history(self, history: list[Content]) -> None:
        pass

    async def send_content(self, content: Content, **_: Any) -> None:
        await self.heard.put("".join(part.text or "" for part in content.parts or ()))

    async def send_realtime(self, blob: Any, **_: Any) -> None:
        await self.heard.put(f"{len(blob.data)} bytes")

    async def receive(self) -> AsyncGenerator[LlmResponse, None]:
        while (text := await self.heard.get()) is not None:
            if text == "crash":
                raise RuntimeError("password=hunter2")
            yield LlmResponse(content=Content(role="model", parts=[Part(text=text)]))
            yield LlmResponse(turn_complete=True)

    async def close(self) -> None:
        await self.heard.put(None)


class Parrot(BaseLlm):
    model: str = "parrot"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        yield LlmResponse()

    @asynccontextmanager
    async def connect(self, llm_request: LlmRequest) -> AsyncIterator[Line]:
        yield Line()


def talk(serve: Serve) -> str:
    client = serve(agents={"parrot": Agent(name="parrot", model=Parrot())})
    client.post("/apps/parrot/users/ann/sessions/s")
    return str(client.base_url).replace("http", "ws", 1).rstrip("/")


def reads(socket: ClientConnection) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    while not events or not events[-1].get("turnComplete"):
        events.append(json.loads(socket.recv(timeout=10)))
    return events


def close_code(socket: ClientConnection) -> int | None:
    with pytest.raises(ConnectionClosed) as closed:
        socket.recv(timeout=10)
    return closed.value.rcvd.code if closed.value.rcvd is not None else None


def test_a_live_run_answers_until_the_client_closes(serve: Serve) -> None:
    with connect(f"{talk(serve)}/run_live?{QUERY}", proxy=None) as socket:
        for number in range(2):
            socket.send(json.dumps({"content": {"role": "user", "parts": [{"text": f"hi {number}"}]}}))
            events = reads(socket)
            assert [one["content"]["parts"][0]["text"] for one in events if "content" in one] == [f"hi {number}"]
        socket.send(json.dumps({"close": True}))
        socket.close()
        assert socket.close_code == 1000


@pytest.mark.parametrize("text", ["{", "[]", '{"content": 7}', "\ud7ff"])
def test_a_message_that_is_not_a_request_closes_the_socket(serve: Serve, text: str) -> None:
    with connect(f"{talk(serve)}/run_live?{QUERY}", proxy=None) as socket:
        socket.send(text)
        assert close_code(socket) == 1007


def test_a_failure_closes_the_socket_without_its_text(serve: Serve) -> None:
    with connect(f"{talk(serve)}/run_live?{QUERY}", proxy=None) as socket:
        socket.send(json.dumps({"content": {"role": "user", "parts": [{"text": "crash"}]}}))
        assert close_code(socket) == 1011
        assert "hunter2" not in (socket.close_reason or "")


def test_what_cannot_begin_is_refused(serve: Serve) -> None:
    base = talk(serve)
    for query in ("app_name=parrot", QUERY.replace("TEXT", "SMELL")):
        with pytest.raises(InvalidStatus), connect(f"{base}/run_live?{query}", proxy=None):
            pass
    for wrong in ("session_id=s", "app_name=parrot"):
        query = QUERY.replace(wrong, f"{wrong}x")
        with connect(f"{base}/run_live?{query}", proxy=None) as socket:
            assert close_code(socket) == 1002
