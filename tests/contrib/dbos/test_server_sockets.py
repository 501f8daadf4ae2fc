"""A server and a worker over DBOS, each a process of its own, and clients that are slow, leave, or are left."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from tests.contrib.dbos.working import HOST, PATIENCE

from newel.testing.packages import FakePackages

#: `pour N SIZE` calls a tool N times, whose results have SIZE characters; `hang FILE` waits for a file.
_AGENT = """
from newel.agents import LlmAgent
from newel.apps import App
from newel.models import BaseLlm, LlmResponse
from newel.testing.engines.clerk import hang, pay
from newel.tools import FunctionTool
from newel.types import Content, FunctionCall, Part


class Pouring(BaseLlm):
    model: str = "pouring"

    async def generate_content_async(self, llm_request, stream=False):
        parts = [part for one in llm_request.contents for part in one.parts or ()]
        last = max(number for number, part in enumerate(parts) if part.text)
        word, first, *rest = (parts[last].text + " ").split(" ")
        results = sum(part.function_response is not None for part in parts[last:])
        part = Part(text="It is done.")
        if word == "pour" and results < int(first):
            part = Part(function_call=FunctionCall(name="pour", args={"number": results, "size": int(rest[0])}))
        elif word in ("hang", "pay") and not results:
            part = Part(function_call=FunctionCall(name=word, args={"file": first}))
        yield LlmResponse(content=Content(role="model", parts=[part]))


def pour(number: int, size: int) -> str:
    return f"{number}:" + "x" * size


tools = [pour, hang, FunctionTool(pay, require_confirmation=True)]
app = App(name="APP", root_agent=LlmAgent(name="clerk", model=Pouring(), tools=tools))
"""


class Place:
    """A folder with an app of its own, and the processes that were started in it."""

    def __init__(self, path: Path, app: str, services: dict[str, str]) -> None:
        self.path = path
        self.app = app
        self._processes: list[subprocess.Popen[str]] = []
        self._clients: list[httpx.Client] = []
        (path / "newel.yaml").write_text(json.dumps({"extends": "standard", "services": services}), "utf-8")
        (path / "agents" / app).mkdir(parents=True)
        (path / "agents" / app / "agent.py").write_text(_AGENT.replace("APP", app), "utf-8")

    def start(self, *words: str) -> tuple[subprocess.Popen[str], str]:
        """A process of newel, and the first line that it prints."""
        environment = {**os.environ, "PYTHONPATH": str(self.path)}
        command = [sys.executable, "-m", "newel.cli.main", *words]
        process = subprocess.Popen(command, cwd=self.path, env=environment, stdout=subprocess.PIPE, text=True)
        self._processes.append(process)
        assert process.stdout is not None
        return process, process.stdout.readline().strip()

    def worker(self) -> subprocess.Popen[str]:
        process, line = self.start("worker", f"agents/{self.app}")
        assert line.startswith("ready: ")
        return process

    def server(self, *options: str) -> tuple[subprocess.Popen[str], httpx.Client]:
        process, line = self.start("api_server", "agents", "--port", "0", "--no-token", *options)
        client = httpx.Client(base_url=line.split()[-1], trust_env=False, timeout=PATIENCE)
        self._clients.append(client)
        return process, client

    def body(self, session: str, text: str, **more: object) -> dict[str, Any]:
        message = {"role": "user", "parts": [{"text": text}]}
        return {"appName": self.app, "userId": "u", "sessionId": session, "newMessage": message, **more}

    def at(self, session: str, *parts: str) -> str:
        return "/".join([f"/apps/{self.app}/users/u/sessions/{session}", *parts])

    def end(self) -> None:
        for client in self._clients:
            client.close()
        for process in self._processes:
            process.kill()
            process.communicate()


@pytest.fixture
def place(
    tmp_path: Path, uri: str, database: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[Place]:
    packages = FakePackages(tmp_path)
    packages.install("newel-dbos", plugins={"dbos_engine": "newel_dbos.plugin"})
    packages.install("newel-postgres", plugins={"postgres_sessions": "newel_postgres.plugin"})
    monkeypatch.chdir(tmp_path)
    services = {"engine": uri, "session": f"postgresql://postgres@{HOST}/{database}"}
    app = "a" + "".join(filter(str.isalnum, request.node.name))[-40:]
    place = Place(tmp_path, app, services)
    yield place
    place.end()


def _until(holds: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def _post(client: httpx.Client, body: dict[str, Any], buffer: int = 0, **headers: str) -> socket.socket:
    """A connection that has sent a message, and has read nothing."""
    base = urlsplit(str(client.base_url))
    connection = socket.socket()
    if buffer:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    connection.settimeout(PATIENCE)
    connection.connect((base.hostname, base.port))
    data = json.dumps(body).encode()
    given = {"host": base.netloc, "content-type": "application/json", "content-length": str(len(data)), **headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    connection.sendall(f"POST /run_sse HTTP/1.1\r\n{head}\r\n".encode() + data)
    return connection


def _frames(lines: Iterator[str]) -> Iterator[tuple[str, Any]]:
    """The id and the data of each frame."""
    id_ = ""
    for line in lines:
        if line.startswith("id:"):
            id_ = line[3:].strip()
        elif line.startswith("data:"):
            yield id_, json.loads(line[5:])


def _parts(events: list[Any]) -> list[dict[str, Any]]:
    return [part for event in events for part in (event.get("content") or {}).get("parts", ())]


def _runs(client: httpx.Client, place: Place, session: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(place.at(session, "runs")).json()
    return found


def test_a_client_that_reads_slowly_holds_up_nobody_and_gets_all(place: Place) -> None:
    place.worker()
    server, client = place.server()
    client.post(place.at("s"))
    with closing(_post(client, place.body("s", "pour 60 90000"), 8192, connection="close")) as slow:
        _until(lambda: _runs(client, place, "s"))
        _until(lambda: not _runs(client, place, "s"))  # the worker has ended the run, of which nothing was read
        before = time.monotonic()
        client.post(place.at("t"))
        answer = client.post("/run", json=place.body("t", "hello"))
        assert answer.json()[0]["content"]["parts"][0]["text"] == "It is done."
        assert time.monotonic() - before < 10
        resident = int(Path(f"/proc/{server.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        assert resident < 600_000_000
        with slow.makefile("r", encoding="utf-8", newline="\n") as lines:
            frames = [event for _, event in _frames(iter(lines))]
    said = _parts(frames)
    poured = [one["functionResponse"]["response"]["result"] for one in said if "functionResponse" in one]
    assert [one.partition(":")[0] for one in poured] == [str(number) for number in range(60)]
    assert {len(one.partition(":")[2]) for one in poured} == {90_000}
    assert said[-1]["text"] == "It is done."


@pytest.mark.parametrize("then", ["cancel", "detach"])
@pytest.mark.parametrize("reads", [True, False])
def test_what_becomes_of_a_run_whose_client_leaves(place: Place, then: str, reads: bool) -> None:
    place.worker()
    _, client = place.server()
    client.post(place.at("s"))
    gate = place.path / "gate"
    connection = _post(client, place.body("s", f"hang {gate}", onDisconnect=then))
    _until(Path(f"{gate}.begun").exists)
    if reads:
        assert connection.recv(100).startswith(b"HTTP/1.1 200")
    (run,) = _runs(client, place, "s")
    connection.close()
    path = place.at("s", "runs", run["id"], "events")
    if then == "cancel":
        _until(lambda: not _runs(client, place, "s"))
        frames = [event for _, event in _frames(client.get(path).iter_lines())]
        assert frames[-1]["code"] == 409
        assert "functionResponse" in json.dumps(frames[:-1])  # its open call has a result
        assert not Path(f"{gate}.ended").exists()
        return
    time.sleep(1)
    assert [one["status"] for one in _runs(client, place, "s")] == ["running"]
    gate.touch()
    frames = [event for _, event in _frames(client.get(path).iter_lines())]
    assert _parts(frames)[-1]["text"] == "It is done."
    assert len(Path(f"{gate}.begun").read_text().splitlines()) == 1


def test_a_server_that_is_told_to_end_leaves_its_runs_to_the_workers(place: Place) -> None:
    """The client is told to come back, and another server has the rest; a run that waits for a worker stays, too."""
    place.worker()
    server, client = place.server("--drain", "1")
    for session in ("s", "t"):
        client.post(place.at(session))
    gate = place.path / "gate"
    seen: list[tuple[str, Any]] = []
    with client.stream("POST", "/run_sse", json=place.body("s", f"hang {gate}")) as answer:
        for id_, event in _frames(answer.iter_lines()):
            seen.append((id_, event))
            if len(seen) == 1:
                _until(Path(f"{gate}.begun").exists)
                server.send_signal(signal.SIGTERM)
    assert seen[-1][1]["code"] == 503
    assert "come back with Last-Event-ID" in seen[-1][1]["error"]
    assert server.wait(PATIENCE) == -signal.SIGTERM
    _, client = place.server()
    assert [one["status"] for one in _runs(client, place, "s")] == ["running"]
    last = {"last-event-id": seen[-2][0]}
    with client.stream("POST", "/run_sse", json=place.body("s", f"hang {gate}"), headers=last) as answer:
        gate.touch()
        rest = [event for _, event in _frames(answer.iter_lines())]
    assert _parts(rest)[-1]["text"] == "It is done."
    assert len(Path(f"{gate}.begun").read_text().splitlines()) == 1
    events = client.get(place.at("s")).json()["events"]
    assert [one["id"] for one in events if one["author"] != "user"] == [event["id"] for _, event in seen[:-1]] + [
        event["id"] for event in rest
    ]


def test_a_server_that_is_killed_between_a_message_and_its_answer_loses_nothing(place: Place) -> None:
    server, client = place.server()
    client.post(place.at("s"))
    with closing(_post(client, place.body("s", "hello"))):
        _until(lambda: _runs(client, place, "s"))
        server.kill()
        server.wait()
    _, client = place.server()
    (run,) = _runs(client, place, "s")
    assert run["status"] == "queued"
    place.worker()
    with client.stream("GET", place.at("s", "runs", run["id"], "events")) as answer:
        frames = [event for _, event in _frames(answer.iter_lines())]
    assert [one["text"] for one in _parts(frames)] == ["It is done."]
    with suppress(httpx.HTTPError):
        assert _runs(client, place, "s") == []
