"""A server of several processes: one of them is killed amid its runs."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

AGENT = """
import asyncio

from newel import Agent
from newel.models import BaseLlm, LlmResponse
from newel.types import Content, FunctionCall, Part


class Slow(BaseLlm):
    model: str = "slow"

    async def generate_content_async(self, llm_request, stream=False):
        done = sum(1 for content in llm_request.contents for part in content.parts or () if part.function_response)
        await asyncio.sleep(0.1)
        part = Part(function_call=FunctionCall(name="tick", args={})) if done < 8 else Part(text="end")
        yield LlmResponse(content=Content(role="model", parts=[part]))


def tick() -> str:
    return "tick"


root_agent = Agent(name="slow", model=Slow(), tools=[tick])
"""
SESSION = "/apps/slow/users/ann/sessions"
#: ``NEWEL_LOAD_RUNS=50`` tries more of them.
RUNS = int(os.environ.get("NEWEL_LOAD_RUNS", "12"))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[int, int]]:
    """The process and the port of a server with two workers."""
    (tmp_path / "agents" / "slow").mkdir(parents=True)
    (tmp_path / "agents" / "slow" / "agent.py").write_text(AGENT)
    (tmp_path / "agents" / "slow" / "__init__.py").write_text("")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "newel.cli.main", "api_server", "--port", str(port), "--no-token"]
    command += ["--workers", "2", "--sessions", f"sqlite:///{tmp_path}/s.db", str(tmp_path / "agents")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=tmp_path, start_new_session=True) as process:
        try:
            yield process.pid, port
        finally:
            process.terminate()
            try:
                assert process.wait(60) == -signal.SIGTERM
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)


def _workers(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(one) for one in children if b"resource_tracker" not in Path(f"/proc/{one}/cmdline").read_bytes()]


class Client:
    """Follows one run to its end, whatever happens to the worker that it talks to."""

    def __init__(self, http: httpx.AsyncClient, name: str) -> None:
        self.http = http
        self.name = name
        self.seen: list[str] = []
        self.last: str | None = None
        self.cuts = 0

    async def follow(self) -> None:
        message = {"role": "user", "parts": [{"text": "go"}]}
        body = {"appName": "slow", "userId": "ann", "sessionId": self.name, "newMessage": message}
        while True:
            headers = {"last-event-id": self.last} if self.last else {}
            try:
                async with self.http.stream("POST", "/run_sse", json=body, headers=headers) as stream:
                    assert stream.status_code == 200, await stream.aread()
                    if await self._read(stream):
                        return
            except httpx.TransportError:
                self.cuts += 1
                await self._look()

    async def _read(self, stream: httpx.Response) -> bool:
        head = ""
        async for line in stream.aiter_lines():
            if line.startswith("id: "):
                head = line[4:]
            elif line.startswith("data: "):
                self.seen.append(json.loads(line[6:])["id"])
                self.last = head
            elif line == ": end":
                return True
        return False

    async def _look(self) -> None:
        """Ask the session whether the message was stored, if no frame of its run came."""
        while self.last is None:
            try:
                events = (await self.http.get(f"{SESSION}/{self.name}")).json()["events"]
            except httpx.TransportError:
                continue
            if not events:
                return  # it was not: it is sent again
            self.last = f"{events[0]['invocationId']}:0"


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="the workers are found in /proc")
def test_what_a_killed_worker_had_stored_reaches_its_clients_once_and_in_order(server: tuple[int, int]) -> None:
    pid, port = server

    async def main() -> None:
        limits = httpx.Limits(max_connections=100, max_keepalive_connections=0)
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}", timeout=60, limits=limits, trust_env=False
        ) as http:
            await _ready(http)
            clients = [Client(http, f"s{number}") for number in range(RUNS)]
            for one in clients:
                assert (await http.post(f"{SESSION}/{one.name}")).status_code == 200
            following = [asyncio.ensure_future(one.follow()) for one in clients]
            while sum(len(one.seen) for one in clients) < RUNS * 4:
                await asyncio.sleep(0.02)
            os.kill(_workers(pid)[0], signal.SIGKILL)
            await asyncio.wait_for(asyncio.gather(*following), 120)
            for one in clients:
                events: list[dict[str, Any]] = (await http.get(f"{SESSION}/{one.name}")).json()["events"]
                assert one.seen == [event["id"] for event in events if event["author"] != "user"]
                assert one.cuts or events[-1]["content"]["parts"] == [{"text": "end"}]

    asyncio.run(main())


async def _ready(http: httpx.AsyncClient) -> None:
    end = time.monotonic() + 90
    while time.monotonic() < end:
        try:
            if (await http.get("/health")).status_code == 200:
                return
        except httpx.TransportError:
            await asyncio.sleep(0.1)
    raise AssertionError("the server did not start")
