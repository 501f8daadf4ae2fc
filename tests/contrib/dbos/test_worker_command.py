"""`newel worker`, `submit` and `runs` over an engine that processes share."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from click.testing import CliRunner, Result
from cryptography.fernet import Fernet
from tests.contrib.dbos.working import HOST, PATIENCE

from newel.cli.group import cli
from newel.testing.packages import FakePackages

_AGENT = """
from newel.testing.engines.clerk import clerk

app = clerk("shop")
"""


class Project:
    """A folder with an agent, and the workers that were started in it."""

    def __init__(self, path: Path, uri: str, database: str) -> None:
        self.path = path
        self.workers: list[subprocess.Popen[str]] = []
        services = {"engine": uri, "session": f"postgresql://postgres@{HOST}/{database}"}
        (path / "newel.yaml").write_text(json.dumps({"extends": "standard", "services": services}), "utf-8")
        (path / "shop").mkdir()
        (path / "shop" / "agent.py").write_text(_AGENT, "utf-8")

    def worker(self, *options: str) -> tuple[subprocess.Popen[str], str]:
        """A worker that is ready, and the address of its health."""
        command = [sys.executable, "-m", "newel.cli.main", "worker", "shop", *options]
        environment = {**os.environ, "PYTHONPATH": str(self.path)}
        worker = subprocess.Popen(command, cwd=self.path, env=environment, stdout=subprocess.PIPE, text=True)
        self.workers.append(worker)
        assert worker.stdout is not None
        ready, _, address = worker.stdout.readline().strip().partition("; ")
        assert ready == "ready: shop"
        return worker, address.removesuffix("/metrics")

    def newel(self, *words: str, stdin: str | None = None) -> Result:
        return CliRunner().invoke(cli, words, input=stdin)

    def shown(self, run: str) -> dict[str, Any]:
        shown: dict[str, Any] = json.loads(self.newel("runs", "show", "shop", run).output)
        return shown

    def end(self) -> None:
        for worker in self.workers:
            worker.kill()
            worker.communicate()


@pytest.fixture
def project(tmp_path: Path, uri: str, database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    packages = FakePackages(tmp_path)
    packages.install("newel-dbos", plugins={"dbos_engine": "newel_dbos.plugin"})
    packages.install("newel-postgres", plugins={"postgres_sessions": "newel_postgres.plugin"})
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    project = Project(tmp_path, uri, database)
    yield project
    project.end()


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def _status(address: str) -> int:
    try:
        with urlopen(address) as answer:
            return int(answer.status)
    except HTTPError as error:
        with error:
            return error.code


def test_a_run_is_submitted_answered_released_and_taken_over(project: Project) -> None:
    worker, address = project.worker()
    answered = project.newel("submit", "shop", "hello", "--wait")
    assert (answered.exit_code, answered.stdout) == (0, "It is done.\n")
    assert (_status(f"{address}/healthz"), _status(f"{address}/readyz"), _status(f"{address}/x")) == (200, 200, 404)

    paid = project.path / "paid"
    waits = project.newel("submit", "shop", f"pay {paid}", "--wait", "--invocation", "payment")
    assert (waits.exit_code, "newel runs signal shop payment --answer" in waits.stderr) == (3, True)
    shown = project.shown("pay")  # the beginning of its id
    assert (shown["state"], len(shown["waits_for"])) == ("paused", 1)
    assert shown["why"] == "it waits for an answer, and no worker has it"
    call = shown["waits_for"][0].partition(":")[0]
    for answer, told in (((), f"payment waits for {call}: give --answer {call}=ANSWER\n"), (("--answer", "x=yes"), "")):
        unanswered = project.newel("runs", "signal", "shop", "payment", *answer)
        assert (unanswered.exit_code, unanswered.stderr) == (1, told or f"payment does not wait for x; open: {call}\n")
    assert project.newel("runs", "retry", "shop", "payment").exit_code == 1
    assert project.newel("runs", "signal", "shop", "payment", "--answer", f"{call}=yes").exit_code == 0
    _until(lambda: project.shown("payment")["state"] == "ended")
    assert paid.read_text() == "paid\n"
    for words, told in (
        (("cancel", "shop", "payment"), "payment is over already: ended\n"),
        (("retry", "shop", "payment"), "payment has ended well: there is nothing to retry\n"),
        (("signal", "shop", "payment"), "payment is over, and takes no answer: ended\n"),
        (("signal", "shop", "payment", "--answer", f"{call}=yes"), "payment is over, and takes no answer: ended\n"),
    ):
        unchanged = project.newel("runs", *words)
        assert (unchanged.exit_code, unchanged.stderr) == (1, told)

    gate = project.path / "gate"
    assert json.loads(project.newel("submit", "shop", f"hang {gate}", "--invocation", "long").output)["queue"]
    _until(lambda: project.shown("long")["state"] == "running" and Path(f"{gate}.begun").exists())
    worker.send_signal(signal.SIGTERM)
    _until(lambda: _status(f"{address}/readyz") == 503)
    worker.send_signal(signal.SIGTERM)  # the second one does not wait for --drain
    assert worker.wait(PATIENCE) == 0
    shown = project.shown("long")
    assert (shown["state"], shown["events"], shown["ended"], shown["attempts"]) == ("queued", 2, None, 1)
    project.worker()
    gate.touch()
    _until(lambda: project.shown("long")["state"] == "ended")
    listed = json.loads(project.newel("runs", "list", "shop", "--most", "2").output)
    assert [(one["run"], one["state"]) for one in listed] == [("long", "ended"), ("payment", "ended")]


_LOOKING = """
from newel import Agent, App
from newel.auth import AuthConfig, AuthCredential
from newel.auth.auth_schemes import APIKey
from newel.testing import ScriptedModel
from newel.tools import AuthenticatedFunctionTool
from newel.types import FunctionCall
from pathlib import Path

def look(credential: AuthCredential) -> str:
    Path("seen").write_text(credential.api_key)
    return "rain"

key = AuthConfig(auth_scheme=APIKey(in_="header", name="X-Key"), credential_key="weather")
model = ScriptedModel([FunctionCall(name="look", args={}), "It rains."])
tools = [AuthenticatedFunctionTool(look, auth_config=key)]
app = App(name="shop", root_agent=Agent(name="clerk", model=model, tools=tools))
"""


@pytest.mark.parametrize("source", ["stdin", "file"])
def test_a_credential_answers_a_run_by_the_command_that_is_printed(
    project: Project, database: str, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    """With the engine and the sessions that `submit` was given, and never by the command line itself."""
    monkeypatch.setenv("NEWEL_CREDENTIALS_KEY", Fernet.generate_key().decode())
    (project.path / "shop" / "agent.py").write_text(_LOOKING, "utf-8")
    services = {"credential": f"file:{project.path}/credentials"}
    uri = json.loads((project.path / "newel.yaml").read_text())["services"]["engine"]
    (project.path / "newel.yaml").write_text(json.dumps({"extends": "standard", "services": services}), "utf-8")
    options = ("--sessions", f"postgresql://postgres@{HOST}/{database}", "--engine", uri)
    project.worker(*options)
    name = f"weather-{source}"
    waits = project.newel("submit", "shop", "hi", "--wait", "--invocation", name, *options)
    assert waits.exit_code == 3, waits.output
    command = shlex.split(waits.stderr.rpartition(" - ")[2].partition(", which reads it")[0])
    assert command[:5] == ["newel", "runs", "signal", "shop", name]
    clear = project.newel(*(word.replace("=-", "=hunter2") for word in command[1:]))
    assert (clear.exit_code, "hunter2" in clear.output) == (2, False)
    (project.path / "secret").write_text("hunter2-hunter2\n")
    words = command[1:] if source == "stdin" else [word.replace("=-", "=@secret") for word in command[1:]]
    answered = project.newel(*words, stdin="hunter2-hunter2\n")
    assert (answered.exit_code, answered.stdout) == (0, f"{name} goes on\n")

    def ended() -> bool:
        shown = project.newel("runs", "show", "shop", name, *options)
        return bool(json.loads(shown.output)["state"] == "ended")

    _until(ended)
    assert (project.path / "seen").read_text() == "hunter2-hunter2"
    dumped = subprocess.run(["pg_dump", "-h", HOST, "-U", "postgres", database], capture_output=True, check=True).stdout
    assert b"It rains." in dumped
    assert b"hunter2" not in dumped


def test_what_cannot_be_meant_is_told(project: Project) -> None:
    unknown = project.newel("runs", "show", "shop", "nothing")
    assert (unknown.exit_code, "has no run 'nothing'" in unknown.stderr) == (2, True)
    away = project.newel("worker", "shop", "--sessions", f"postgresql://postgres@{HOST}:1/nothing")
    assert (away.exit_code, "the session store" in away.stderr) == (2, True)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = project.newel("worker", "shop", "--port", str(port))
        assert (refused.exit_code, f"127.0.0.1:{port} cannot be listened on" in refused.stderr) == (2, True)
    inline = project.newel("worker", "shop", "--engine", "inline")
    assert (inline.exit_code, "no engine that processes share" in inline.stderr) == (2, True)
