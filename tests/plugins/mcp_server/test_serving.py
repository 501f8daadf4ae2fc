"""Servers as people start them: by the command line, over stdio and HTTP, and on the API server."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from newel import Agent
from newel.mcp_server import to_mcp_server

_AGENT = """
    from newel import Agent

    def shout(text: str) -> str:
        '''Say it loudly.'''
        print("this is no message")
        return text.upper()

    root_agent = Agent(name="crier", model="echo:", tools=[shout])
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "crier").mkdir()
    (tmp_path / "crier" / "agent.py").write_text(dedent(_AGENT))
    return tmp_path


async def _shouted(server: Any, mode: str) -> Any:
    async with Client(server, mode=mode) as client:
        return await client.call_tool("shout", {"text": "hear"})


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_over_stdin_and_stdout(folder: Path, mode: str) -> None:
    args = ["-m", "newel.cli.main", "mcp", "serve", "crier", "--tools"]
    parameters = StdioServerParameters(command=sys.executable, args=args, cwd=str(folder), env=dict(os.environ))
    result = asyncio.run(asyncio.wait_for(_shouted(parameters, mode), 60))
    assert result.content[0].text == "HEAR"


@contextmanager
def _served(folder: Path, *options: str) -> Iterator[tuple[str, str]]:
    """The address and the header that the command prints."""
    command = [sys.executable, "-m", "newel.cli.main", "mcp", "serve", "crier", "--http", "--port", "0", *options]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            url, header = process.stdout.readline().strip(), process.stdout.readline().strip()
            yield url, header.partition(": ")[2]
        finally:
            process.terminate()
            process.wait(30)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_over_http(folder: Path, mode: str) -> None:
    async def run(url: str, bearer: str) -> Any:
        async with httpx2.AsyncClient(headers={"authorization": bearer}, trust_env=False) as http:
            return await _shouted(streamable_http_client(url, http_client=http), mode)

    with _served(folder, "--tools") as (url, bearer):
        result = asyncio.run(asyncio.wait_for(run(url, bearer), 60))
        assert result.content[0].text == "HEAR"
        with httpx.Client(trust_env=False) as client:
            assert client.post(url, json={}).status_code == 401
            headers = {"authorization": bearer}
            assert client.post(url, json={}, headers={**headers, "host": "evil.example"}).status_code == 400
            assert client.post(url, json={}, headers={**headers, "origin": "http://evil.example"}).status_code == 403


def _said(folder: Path, *args: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "newel.cli.main", "mcp", *args]
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert done.stdout == ""
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (("serve", "nobody"), "there is no agent 'nobody'"),
        (("serve", "crier", "--tool", "shoot"), "has no tool 'shoot' to be served; did you mean 'shout'"),
        (("serve", "crier", "--tools", "--tool", "shout"), "not both"),
        (("serve", "crier", "--model", "nothing-known"), "unknown model 'nothing-known'"),
        (("serve", "crier", "--state-key", "short"), "at least 32 characters"),
        (("serve", "crier", "--http", "--host", "0.0.0.0", "--no-token"), "--no-token is for this machine only"),
        (("serve", "crier", "--http", "--host", "192.0.2.1"), "give an address of this machine by --host"),
    ],
)
def test_wrong_inputs(folder: Path, args: tuple[str, ...], text: str) -> None:
    status, stderr = _said(folder, *args)
    assert status == 2
    assert text in stderr
    assert stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("hosts", "sent", "status"),
    [
        (None, {}, 200),
        (None, {"host": "evil.example"}, 421),
        (None, {"origin": "https://evil.example"}, 403),
        (None, {"origin": "http://localhost:3000"}, 200),
        (["shop.example"], {"host": "shop.example", "origin": "https://shop.example"}, 200),
        (["shop.example"], {}, 421),
    ],
)
def test_an_app_of_its_own_serves_its_hosts_only(hosts: list[str] | None, sent: dict[str, str], status: int) -> None:
    server = to_mcp_server(Agent(name="crier", model="echo:"))
    app: Any = server.http_app() if hosts is None else server.http_app(hosts=hosts)

    async def asked() -> int:
        transport = httpx.ASGITransport(app)
        base = "http://127.0.0.1:8000"
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        headers = {"accept": "application/json, text/event-stream", **sent}
        async with app.router.lifespan_context(app), httpx.AsyncClient(transport=transport, base_url=base) as client:
            return (await client.post("/mcp", json=body, headers=headers)).status_code

    assert asyncio.run(asked()) == status
