"""A server that a signal ends, in one process and in several; and processes that are killed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from tests.plugins.server.operations.conftest import Process, Start, client_of, message, sessions

from newel import Agent
from newel.server import app
from newel.server.operations.load import LOAD
from newel.server.operations.server import Server, Worker

_STORE = ("--sessions", "sqlite:///sessions.db")
_SESSION = "/apps/clerk/users/u/sessions"
#: As the server's END_SECONDS, with room for a machine that is busy.
_END = 5 + 10

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")


def _start(start: Start, workers: int, *arguments: str, **options: Any) -> tuple[Process, str, str]:
    return start(*_STORE, *(("--workers", str(workers)) if workers > 1 else ()), *arguments, **options)


def _running(group: int) -> list[int]:
    """The processes of a group that have not ended."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            state, _, leader = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
        except (OSError, ValueError):
            continue
        if int(leader) == group and state != "Z":
            found.append(int(entry.name))
    return found


def _workers(parent: int) -> list[int]:
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [int(one) for one in children if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()]


def _until(condition: Callable[[], Any], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def _in_flight(client: httpx.Client, session: str, text: str) -> tuple[threading.Thread, list[Any]]:
    """A run whose message is stored, and its answer once it comes."""
    sessions(client, session)
    answers: list[Any] = []

    def run() -> None:
        try:
            answers.append(client.post("/run", json=message(session, text)))
        except httpx.TransportError as error:
            answers.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    _until(lambda: client.get(f"{_SESSION}/{session}").json()["events"])
    return thread, answers


def _texts(client: httpx.Client, session: str) -> list[str]:
    events = client.get(f"{_SESSION}/{session}").json()["events"]
    return [part["text"] for event in events for part in (event.get("content") or {}).get("parts", ())]


def _goes_on(start: Start, session: str, *texts: str) -> None:
    """The next server reads the session, and runs the agent on it."""
    _, base, token = start(*_STORE)
    with client_of(base, token) as client:
        assert _texts(client, session) == [*texts]
        answer = client.post("/run", json=message(session, "0"))
        assert answer.status_code == 200, answer.text
        assert _texts(client, session) == [*texts, "0", "late"]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_signal_lets_the_runs_end_and_begins_none(start: Start, workers: int) -> None:
    process, base, token = _start(start, workers)
    assert len(token) >= 32
    with client_of(base, token) as client:
        sessions(client, "b", "c")
        with client.stream("POST", "/run_sse", json=message("c", "6", onDisconnect="detach")):
            _until(lambda: client.get(f"{_SESSION}/c").json()["events"])
        thread, answers = _in_flight(client, "a", "6")
        if workers > 1:  # as systemd and a terminal do: every process gets it
            os.killpg(process.pid, signal.SIGTERM)
        else:
            process.send_signal(signal.SIGTERM)
        _until(lambda: client.get("/ready").status_code == 503)
        time.sleep(0.3)
        steer, remark = f"{_SESSION}/b/steer", {"newMessage": message("b")["newMessage"]}
        for path, body in (("/run", message("b")), ("/run_sse", message("b")), (steer, remark)):
            refused = client.post(path, json=body)
            assert refused.status_code == 503, refused.text
            assert int(refused.headers["retry-after"]) > 0
        assert client.get("/health").status_code == 200
        thread.join()
    assert answers[0].status_code == 200
    assert "late" in answers[0].text
    assert process.wait(60) == -signal.SIGTERM
    _until(lambda: not _running(process.pid))
    _goes_on(start, "a", "6", "late")
    _goes_on(start, "c", "6", "late")


@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_that_lasts_too_long_is_cancelled_and_leaves_its_session(start: Start, workers: int) -> None:
    process, base, token = _start(start, workers, "--drain", "0.5")
    with client_of(base, token) as client:
        thread, answers = _in_flight(client, "a", "300")
        sessions(client, "b")
        with client.stream("POST", "/run_sse", json=message("b", "300")) as streamed:
            _until(lambda: client.get(f"{_SESSION}/b").json()["events"])
            process.send_signal(signal.SIGTERM)
            frames = [line for line in streamed.iter_lines() if line]
        assert process.wait(_END) == -signal.SIGTERM
        thread.join()
    assert answers[0].status_code == 503
    frame = json.loads(frames[-2].removeprefix("data: "))
    assert frame["code"] == 503
    assert "Last-Event-ID" in frame["error"]
    assert frames[-1] == ": end"
    _until(lambda: not _running(process.pid))
    _goes_on(start, "a", "300")


@pytest.mark.parametrize(("workers", "second"), [(1, signal.SIGINT), (2, signal.SIGTERM), (2, signal.SIGINT)])
def test_a_second_signal_ends_it_at_once(start: Start, workers: int, second: signal.Signals) -> None:
    process, base, token = _start(start, workers, "--drain", "300")
    with client_of(base, token) as client:
        thread, answers = _in_flight(client, "a", "300")
        process.send_signal(signal.SIGTERM)
        _until(lambda: client.get("/ready").status_code == 503)
        assert process.poll() is None
        process.send_signal(second)
        process.wait(_END)
        thread.join()
    assert answers
    _until(lambda: not _running(process.pid))
    _goes_on(start, "a", "300")


@pytest.mark.parametrize("workers", [1, 2])
def test_a_second_signal_ends_even_an_agent_that_blocks(start: Start, workers: int) -> None:
    process, base, token = _start(start, workers, "--drain", "300")
    with client_of(base, token) as client:
        sessions(client, "a")
        thread = threading.Thread(target=_post_and_forget, args=(base, token, message("a", "block 300")))
        thread.start()
        time.sleep(1)
        process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        assert process.wait(_END) != 0
        thread.join()
    _until(lambda: not _running(process.pid))


def _post_and_forget(base: str, token: str, body: object) -> None:
    with client_of(base, token) as client:
        try:
            client.post("/run", json=body)
        except httpx.TransportError:
            return


def test_a_killed_worker_is_started_again(start: Start) -> None:
    process, base, token = _start(start, 2)
    before = _workers(process.pid)
    assert len(before) == 2
    for lost in before:
        os.kill(lost, signal.SIGKILL)
    _until(lambda: len(_workers(process.pid)) == 2 and not {*before} & {*_workers(process.pid)})
    with client_of(base, token) as client:
        assert client.get("/list-apps").json() == ["clerk"]
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == -signal.SIGTERM


def test_a_worker_that_is_told_to_end_before_it_has_a_loop_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LOAD, "draining", False)
    monkeypatch.setattr(Server, "_end_within", lambda *_: None)  # the thread that would kill the process
    listens: list[bool] = []
    state = app(agents={"clerk": Agent(name="clerk", model="echo:")}).state
    server = Worker(uvicorn.Config(lambda *_: None), state, lambda: listens.append(True))
    server.drain()
    asyncio.run(asyncio.wait_for(server.serve(), 60))
    assert not listens


def test_no_worker_outlives_its_parent_and_the_port_is_free_at_once(start: Start) -> None:
    process, base, token = _start(start, 2)
    with client_of(base, token) as client:
        thread, answers = _in_flight(client, "a", "4")
        process.kill()
        process.wait()
        _, again, _ = start(*_STORE, "--port", str(httpx.URL(base).port), "--token", token)
        assert again == base
        thread.join()
    assert answers[0].status_code == 200
    _until(lambda: not _running(process.pid))
    _goes_on(start, "a", "4", "late")


@pytest.mark.parametrize("workers", [1, 2])
def test_what_keeps_it_from_starting_is_one_line(start: Start, workers: int, tmp_path: Path) -> None:
    _, base, _ = start("--no-token")
    wrong = [
        (["--port", str(httpx.URL(base).port)], "in use: give another one by --port"),
        (["--host", "192.0.2.1"], "give an address of this machine by --host"),
        (["--host", "no-such-host.invalid"], "--host no-such-host.invalid: "),
    ]
    for arguments, text in wrong:
        _fails(_start(start, workers, *arguments, stderr=subprocess.PIPE)[0], text)
    (tmp_path / "agents" / "clerk" / "agent.py").unlink()
    _fails(_start(start, workers, stderr=subprocess.PIPE)[0], "there are no agents in 'agents'")


def _fails(process: Process, text: str) -> None:
    assert process.wait(60) == 2
    assert process.stderr is not None
    lines = process.stderr.read().splitlines()
    assert len(lines) == 1, lines
    assert text in lines[0]
