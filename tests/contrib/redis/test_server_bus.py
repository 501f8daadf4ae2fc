"""The API server's processes: a follower at another one gets a run's partial events by the bus."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.contrib.redis.conftest import Server

import newel_redis.plugin
from newel.server import BusBackend
from newel_compose import compose
from newel_kernel import ConfigurationError
from newel_redis import Bus

#: A worker of the server: its port, its distribution.
WORKER = """
import asyncio, sys, uvicorn
import newel_redis.plugin
from newel import Agent
from newel.models import BaseLlm, LlmResponse
from newel.server import app
from newel.types import Content, FunctionCall, Part
from newel_compose import compose


class Slow(BaseLlm):
    model: str = "slow"

    async def generate_content_async(self, llm_request, stream=False):
        name = "second" if any(p.function_response for c in llm_request.contents for p in c.parts) else "first"
        for number in range(6):
            await asyncio.sleep(0.15)
            yield LlmResponse(content=Content(role="model", parts=[Part(text=f"{name}{number} ")]), partial=True)
        parts = [Part(text=f"{name} all")]
        if name == "first":
            parts.append(Part(function_call=FunctionCall(name="look", args={})))
        yield LlmResponse(content=Content(role="model", parts=parts))


def look() -> str:
    return "seen"


composition = compose(sys.argv[2], plugins=[newel_redis.plugin])
application = app(agents={"slow": Agent(name="slow", model=Slow(), tools=[look])}, composition=composition)
uvicorn.run(application, port=int(sys.argv[1]), log_level="warning", lifespan="on")
"""
SESSION = "/apps/slow/users/ann/sessions/s"
WORDS = [f"{name}{number} " for name in ("first", "second") for number in range(6)]


@pytest.fixture
def workers(tmp_path: Path, server: Server) -> Iterator[Callable[[bool], list[httpx.Client]]]:
    """Starts two processes over one store, with a bus or without; gives a client of each."""
    processes: list[subprocess.Popen[bytes]] = []
    clients: list[httpx.Client] = []

    def start(has_bus: bool) -> list[httpx.Client]:
        services = {"session": f"sqlite:///{tmp_path}/s.db", **({"bus": server.url} if has_bus else {})}
        (tmp_path / "shared.yaml").write_text(json.dumps({"extends": "standard", "services": services}))
        for _ in range(2):
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
            command = [sys.executable, "-c", WORKER, str(port), str(tmp_path / "shared.yaml")]
            processes.append(subprocess.Popen(command, cwd=tmp_path))
            clients.append(httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=30))
        for client in clients:
            deadline = time.monotonic() + 60
            while True:
                try:
                    client.get("/health")
                    break
                except httpx.TransportError:
                    assert time.monotonic() < deadline
                    time.sleep(0.05)
        return clients

    yield start
    for client in clients:
        client.close()
    for process in processes:
        process.terminate()
        process.wait(30)


def follow(one: httpx.Client, other: httpx.Client, amid: Callable[[], object] = lambda: None) -> list[tuple[str, Any]]:
    """Start a run at one process, leave it, and follow it at the other: (id, event) of each frame."""
    one.post(SESSION)
    said = {"role": "user", "parts": [{"text": "hello"}]}
    body = {"appName": "slow", "userId": "ann", "sessionId": "s", "newMessage": said, "streaming": True}
    with one.stream("POST", "/run_sse", json={**body, "onDisconnect": "detach"}) as answer:
        line = next(line for line in answer.iter_lines() if line.startswith("data:"))
    invocation = json.loads(line[5:])["invocationId"]
    found: list[tuple[str, Any]] = []
    id_ = ""
    with other.stream("GET", f"{SESSION}/runs/{invocation}/events") as answer:
        for line in answer.iter_lines():
            if line.startswith("id:"):
                id_ = line[3:].strip()
            elif line.startswith("data:"):
                found.append((id_, json.loads(line[5:])))
                if len(found) == 3:
                    amid()
    return found


def texts(frames: list[tuple[str, Any]]) -> list[str]:
    return [part["text"] for _, event in frames for part in event["content"]["parts"] if "text" in part]


def stored(frames: list[tuple[str, Any]]) -> list[tuple[int, Any]]:
    return [(int(id_.rpartition(":")[2]), event) for id_, event in frames if not event.get("partial")]


def test_a_follower_at_another_process_gets_partial_events_in_their_places(workers: Any) -> None:
    one, other = workers(True)
    frames = follow(one, other)
    assert [number for number, _ in stored(frames)] == [2, 3, 4]
    seen = texts(frames)
    partial = [text for text in seen if text in WORDS]
    assert partial == WORDS[-len(partial) :]  # none is missed after the first
    assert len(partial) >= 10
    assert seen.index("first all") == len([text for text in partial if text.startswith("first")])
    assert seen[-1] == "second all"
    assert [int(id_.rpartition(":")[2]) for id_, event in frames if event.get("partial")] == [
        1 if text.startswith("first") else 3 for text in partial
    ]


def test_without_the_bus_a_follower_gets_what_is_stored(workers: Any) -> None:
    one, other = workers(False)
    frames = follow(one, other)
    assert texts(frames) == ["first all", "second all"]
    assert [number for number, _ in stored(frames)] == [2, 3, 4]


def test_when_the_bus_fails_amid_a_run_nothing_that_is_stored_is_missed(workers: Any, server: Server) -> None:
    one, other = workers(True)
    frames = follow(one, other, amid=server.kill)
    assert [number for number, _ in stored(frames)] == [2, 3, 4]
    assert texts(frames)[-1] == "second all"
    assert 3 <= len(texts(frames)) < len(WORDS)


def test_the_uri_says_where_the_bus_is(server: Server) -> None:
    composed = compose("standard", plugins=[newel_redis.plugin])
    bus = composed.open_service(BusBackend, f"{server.url}?prefix=shop&patience=2.5")
    assert isinstance(bus, Bus)
    assert bus.patience == 2.5
    assert bus.channel("a", "u", "s").startswith("shop:bus:")
    with pytest.raises(ConfigurationError, match="must be a number"):
        composed.open_service(BusBackend, f"{server.url}?patience=soon")
