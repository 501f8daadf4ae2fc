"""Servers in processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

#: Waits as many seconds as the message says before it answers; "block N" blocks the loop meanwhile.
AGENT = """
import asyncio, time
from newel import Agent
from newel.testing import ScriptedModel

async def late(request):
    words = request.contents[-1].parts[0].text.split()
    if words[0] == "block":
        time.sleep(float(words[1]))
    else:
        await asyncio.sleep(float(words[0]))
    return "late"

root_agent = Agent(name="clerk", model=ScriptedModel([late] * 20))
"""

Process = subprocess.Popen[str]
#: Starts a server with further arguments; gives the process, its address and its token.
Start = Callable[..., tuple[Process, str, str]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts `newel api_server`, in a group of processes of its own."""
    (tmp_path / "agents" / "clerk").mkdir(parents=True)
    (tmp_path / "agents" / "clerk" / "agent.py").write_text(AGENT)
    processes: list[Process] = []

    def started(*arguments: str, **options: Any) -> tuple[Process, str, str]:
        command = [sys.executable, "-m", "newel.cli.main", "api_server", "agents", "--port", "0", *arguments]
        given = {"cwd": tmp_path, "stdout": subprocess.PIPE, "text": True, "start_new_session": True, **options}
        process = subprocess.Popen(command, **given)
        processes.append(process)
        assert process.stdout is not None
        base, _, token = process.stdout.readline().strip().partition("#token=")
        return process, base, token

    yield started
    for process in processes:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def client_of(base: str, token: str) -> httpx.Client:
    """A client of such a server."""
    return httpx.Client(base_url=base, headers={"authorization": f"Bearer {token}"}, trust_env=False, timeout=60)


def message(session: str, text: str = "hi", **fields: object) -> dict[str, Any]:
    """The body of a run."""
    content = {"role": "user", "parts": [{"text": text}]}
    return {"appName": "clerk", "userId": "u", "sessionId": session, "newMessage": content, **fields}


def sessions(client: httpx.Client, *names: str) -> None:
    """Create sessions."""
    for name in names:
        assert client.post(f"/apps/clerk/users/u/sessions/{name}", json={}).status_code == 200
