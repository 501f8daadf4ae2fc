"""Many clients stream at once; some read slowly and some vanish. ``NEWEL_LOAD=200`` tries more of them."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import socket
import time
from collections.abc import AsyncGenerator
from typing import Any

from pydantic import Field
from tests.plugins.server.conftest import Serve

from newel import Agent
from newel.models import BaseLlm, LlmRequest, LlmResponse
from newel.runs import Run
from newel.server.streams import EventStream
from newel.types import Content, Part

CLIENTS = int(os.environ.get("NEWEL_LOAD", "40"))
SLOW = VANISHING = CLIENTS // 10
CHUNKS, FILLING = 60, "x" * 8_000
USER = "/apps/clerk/users/ann/sessions"


class Talker(BaseLlm):
    """Streams as many chunks as it is asked for, each long enough to fill a socket's buffers soon."""

    model: str = "talker"
    ended: dict[str, str] = Field(default_factory=dict)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        parts = llm_request.contents[-1].parts
        assert parts is not None
        name = parts[0].text or ""
        try:
            for number in range(CHUNKS):
                await asyncio.sleep(0.005)
                yield _said(f"{number} {FILLING}", partial=True)
            self.ended[name] = "whole"
            yield _said(f"all of {name}")
        except (asyncio.CancelledError, GeneratorExit):
            self.ended[name] = "cut"
            raise


def _said(text: str, **fields: Any) -> LlmResponse:
    return LlmResponse(content=Content(role="model", parts=[Part(text=text)]), **fields)


class Client:
    """Streams one run over a socket of its own, whose buffer is small."""

    def __init__(self, port: int, name: str, **fields: Any) -> None:
        self.name = name
        self.port = port
        self.texts: list[str] = []
        self.ended_at = 0.0
        said = {"role": "user", "parts": [{"text": name}]}
        body = {"appName": "clerk", "userId": "ann", "sessionId": name, "newMessage": said, "streaming": True}
        self._body = json.dumps({**body, **fields}).encode()

    async def stream(self, pause: float = 0.0, most: int | None = None) -> None:
        """Read the frames, `pause` seconds apart; after `most` of them hang up."""
        own = socket.socket()
        own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        own.setblocking(False)
        await asyncio.get_running_loop().sock_connect(own, ("127.0.0.1", self.port))
        reader, writer = await asyncio.open_connection(sock=own, limit=1 << 15)
        head = "POST /run_sse HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ncontent-type: application/json\r\n"
        writer.write(f"{head}content-length: {len(self._body)}\r\n\r\n".encode() + self._body)
        try:
            while most is None or len(self.texts) < most:
                line = await reader.readline()
                if not line or line == b": end\n":
                    break
                if line.startswith(b"data: "):
                    event = json.loads(line[6:])
                    assert "error" not in event, event
                    self.texts += [part["text"] for part in event["content"]["parts"]]
                    await asyncio.sleep(pause)
        finally:
            self.ended_at = time.monotonic()
            writer.transport.abort()


def test_a_slow_client_holds_nobody_and_a_vanished_one_leaves_nothing(serve: Serve) -> None:
    model = Talker(ended={})
    http = serve(agents={"clerk": Agent(name="clerk", model=model)})
    port = http.base_url.port
    assert port is not None
    fields = [{}] * (CLIENTS - VANISHING) + [{"onDisconnect": ("cancel", "detach")[n % 2]} for n in range(VANISHING)]
    clients = [Client(port, f"s{number}", **field) for number, field in enumerate(fields)]
    slow, usual, vanishing = clients[:SLOW], clients[SLOW:-VANISHING], clients[-VANISHING:]
    for one in clients:
        assert http.post(f"{USER}/{one.name}").status_code == 200

    async def main() -> None:
        jobs = [one.stream() for one in usual]
        jobs += [one.stream(pause=0.2) for one in slow]
        jobs += [one.stream(most=3) for one in vanishing]
        await asyncio.wait_for(asyncio.gather(*jobs), 240)

    asyncio.run(main())
    whole = [f"{number} {FILLING}" for number in range(CHUNKS)]
    for one in usual:
        assert one.texts == [*whole, f"all of {one.name}"]  # nothing is lost, and in order
    assert max(one.ended_at for one in usual) < min(one.ended_at for one in slow)
    for one in slow:  # what it was too slow for is in the last one
        assert one.texts[-1] == f"all of {one.name}"
        assert one.texts[:-1] == sorted(one.texts[:-1], key=lambda text: int(text.split()[0]))
    _wait_for_ends(http, clients)
    for number, one in enumerate(vanishing):
        assert model.ended[one.name] == ("cut", "whole")[number % 2]
    gc.collect()
    left = [one for one in gc.get_objects() if isinstance(one, (Run, EventStream))]
    assert len(left) <= 2  # at most the last ones, which a frame may still name


def _wait_for_ends(http: Any, clients: list[Client]) -> None:
    deadline = time.monotonic() + 60
    for one in clients:
        while http.get(f"{USER}/{one.name}/runs").json():
            assert time.monotonic() < deadline, one.name
            time.sleep(0.05)
