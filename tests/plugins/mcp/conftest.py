"""Servers as processes, toolsets on them, and what is left over."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

SERVERS = Path(__file__).parent / "servers"


def children() -> set[int]:
    """The pids of this process's descendants."""
    parents: dict[int, int] = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
            if fields[0] != "Z":
                parents[int(entry)] = int(fields[1])
    found: set[int] = set()
    todo = [os.getpid()]
    while todo:
        parent = todo.pop()
        below = [pid for pid, up in parents.items() if up == parent]
        found.update(below)
        todo += below
    return found


def ask(url: str, method: str = "GET") -> Any:
    with urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=20) as reply:
        return json.loads(reply.read())


class Site:
    """A good server over HTTP."""

    def __init__(self, url: str) -> None:
        self.url = url

    @property
    def seen(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = ask(f"{self.url}/_seen")
        return found

    def forget(self) -> None:
        ask(f"{self.url}/_forget", "POST")


@pytest.fixture
def tidy() -> Iterator[None]:
    """No process is left over."""
    before = children()
    yield
    end = time.monotonic() + 5
    while children() - before and time.monotonic() < end:
        time.sleep(0.05)
    assert not children() - before


@pytest.fixture
def stdio(tidy: None) -> Callable[..., Any]:
    """A toolset of a server in a process: ``stdio("raw", "crash", timeout=3)``."""
    from newel.mcp import McpToolset, StdioConnectionParams

    def make(
        script: str, *args: str, timeout: float = 10.0, env: Any = None, params: Any = None, **options: Any
    ) -> Any:
        server = {"command": sys.executable, "args": [str(SERVERS / f"{script}.py"), *args], "env": env}
        made = StdioConnectionParams(server_params=server, timeout=timeout)  # type: ignore[arg-type]
        return McpToolset(connection_params=made, **options)

    return make


@pytest.fixture
def site(tidy: None) -> Iterator[Callable[..., Site]]:
    """A good server over HTTP: ``site("--token", "T")``."""
    processes: list[subprocess.Popen[bytes]] = []

    def start(*args: str) -> Site:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        command = [sys.executable, str(SERVERS / "good.py"), "--http", str(port), *args]
        processes.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
                return Site(f"http://127.0.0.1:{port}")
            time.sleep(0.05)
        raise RuntimeError("the server does not listen")

    yield start
    for process in processes:
        process.terminate()
        process.wait(10)


@pytest.fixture
def http() -> Callable[..., Any]:
    """A toolset of a server over HTTP."""
    from newel.mcp import McpToolset, StreamableHTTPConnectionParams

    def make(site: Site, *, headers: Any = None, timeout: float = 10.0, **options: Any) -> Any:
        params = StreamableHTTPConnectionParams(url=f"{site.url}/mcp", headers=headers, timeout=timeout)
        return McpToolset(connection_params=params, **options)

    return make
