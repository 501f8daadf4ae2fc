"""Runs the points of a kill matrix through `newel worker`: a worker is killed, stopped or cut off, another one goes on.

    python kill_matrix.py --engine tests/faults/engine_adapter.py --root newel --service "..." --mode kill,stop,cut

ENGINE is `dbos` (the default) or `temporal`; LEASE the seconds of a session's lease. Nobody calls resume: the second
has to notice. `seconds` is from the point to the next stored event, `start` until that worker was ready.
"""

from __future__ import annotations

import argparse
import asyncio
import atexit
import collections
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import conformance
import kill_matrix

from newel.agents import LlmAgent
from newel.apps import App
from newel.engines import OVER, BaseEngine, RunState
from newel.engines.kinds import EngineBackend
from newel.runners import Runner
from newel.testing.packages import FakePackages
from newel_compose import Composition, compose
from newel_types import Content, FunctionResponse, Part

Row = dict[str, Any]
ENGINE = os.environ.get("ENGINE", "dbos")
LEASE = float(os.environ.get("LEASE", "3"))
LONGEST = 60.0
_PLUGINS = {
    "newel-dbos": {"dbos_engine": "newel_dbos.plugin"},
    "newel-temporal": {"temporal_engine": "newel_temporal.plugin"},
    "newel-postgres": {"postgres_sessions": "newel_postgres.plugin"},
}
#: The app of a worker: that of the matrix, over a store that stops at a point.
_MODULE = """
import argparse, json, os
import kill_matrix
from newel.apps import App, ResumabilityConfig

given = json.loads(os.environ["MATRIX"])
options = argparse.Namespace(**given["options"])
_, runner, service = kill_matrix.build(options, given["folder"], given["name"], given["point"], given["mode"])
app = App(
    name="app",
    root_agent=runner.agent,
    session_service=service,
    resumability_config=ResumabilityConfig(is_resumable=True),
)
"""


class Case:
    """One point in one mode: a folder, a database, an engine and the workers."""

    def __init__(self, options: argparse.Namespace, point: str, mode: str) -> None:
        self.options = options
        self.point = point
        self.mode = mode
        self.folder = tempfile.mkdtemp(prefix="engine-kill-")
        self.workers: list[subprocess.Popen[str]] = []
        self.asked = False
        options.pgdb = f"kill_{os.getpid()}"
        conformance.psql(f"drop database if exists {options.pgdb} with (force)")
        conformance.psql(f"create database {options.pgdb}")
        packages = FakePackages(Path(self.folder))
        for name, plugins in _PLUGINS.items():
            if name == f"newel-{ENGINE}" or name == "newel-postgres":
                packages.install(name, plugins=plugins)
        Path(self.folder, "matrix_agent.py").write_text(_MODULE, "utf-8")
        Path(self.folder, "newel.yaml").write_text(
            json.dumps({"extends": "standard", "settings": {"claims": {"lease_seconds": LEASE}}}), "utf-8"
        )
        sys.path.insert(0, self.folder)
        self.composition: Composition = compose("standard")
        sys.path.remove(self.folder)
        self.uri = os.environ.get("ENGINE_URI") or _uri(options.pgdb)

    def start(self, name: str, point: str = "", mode: str = "") -> subprocess.Popen[str]:
        """A worker, which is ready."""
        given = {"options": vars(self.options), "folder": self.folder, "name": name, "point": point, "mode": mode}
        here = os.path.dirname(os.path.abspath(kill_matrix.__file__))
        path = os.pathsep.join([self.folder, here, os.environ.get("PYTHONPATH", "")])
        command = [sys.executable, "-m", "newel.cli.main", "worker", "matrix_agent:app", "--engine", self.uri]
        worker = subprocess.Popen(
            [*command, "--name", name, "--drain", "5"],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": path, "MATRIX": json.dumps(given, default=str)},
            stdout=subprocess.PIPE,
            stderr=open(f"{self.folder}/{name}.err", "w"),  # noqa: SIM115 - the process has it
            text=True,
        )
        self.workers.append(worker)
        return worker

    def ready(self, worker: subprocess.Popen[str]) -> None:
        """Wait until a worker takes runs."""
        assert worker.stdout is not None
        line = worker.stdout.readline()
        assert line.startswith("ready"), f"the worker said {line!r}: {self.said()}"

    def said(self) -> str:
        """The ends of what the workers wrote to stderr."""
        return " | ".join(path.read_text()[-300:] for path in sorted(Path(self.folder).glob("*.err")))

    async def client(self, work: Callable[[Runner, BaseEngine], Awaitable[Any]]) -> Any:
        """What `work` gets of a runner of another process, and of the engine."""
        engine = self.composition.open_service(EngineBackend, self.uri)
        assert engine is not None
        opt = argparse.Namespace(**{**vars(self.options), "shared": True, "adapter_module": None})
        store = conformance.Kit(opt, self.folder, "app").service()
        app = App(name="app", root_agent=LlmAgent(name="root", model="echo:"))
        try:
            runner = Runner(app=app, session_service=store, composition=self.composition, engine=engine)
            return await work(runner, engine)
        finally:
            await engine.close()
            await store.close()

    async def submit(self, runner: Runner, engine: BaseEngine) -> str:
        """Submit the run, twice: the second time changes nothing."""
        await runner.session_service.create_session(app_name="app", user_id="u", session_id="s1")
        run = await runner.submit(user_id="u", session_id="s1", new_message="start")
        await engine.submit(run.spec)
        return run.key

    async def finish(self, runner: Runner, engine: BaseEngine, key: str, after: float, stored: int) -> Row:
        """Wait until the run is over, and answer what it asks; how long it took until something was stored."""
        row: Row = {"seconds": None, "state": None}
        end, asked = time.monotonic() + LONGEST, set[str]()
        while time.monotonic() < end:
            if row["seconds"] is None and len(kill_matrix.lines(f"{self.folder}/acked")) > stored:
                row["seconds"] = round(time.monotonic() - after, 2)
            record = await engine.record(key)
            row["state"] = str(record.state) if record is not None else None
            if record is not None and record.state in OVER:
                row["reason"] = record.reason
                break
            if record is not None and record.state is RunState.PAUSED and record.outcome is not None:
                for question in set(record.outcome.waits_for) - asked:
                    asked.add(question)
                    await self._answer(runner, question)
            await asyncio.sleep(0.05)
        row["asked"] = bool(asked)
        return row

    async def _answer(self, runner: Runner, question: str) -> None:
        response = {"confirmed": self.options.confirm == "yes"}
        part = Part(function_response=FunctionResponse(id=question, name="adk_request_confirmation", response=response))
        await runner.submit(user_id="u", session_id="s1", new_message=Content(role="user", parts=[part]))

    def look(self) -> Row:
        """What the store has."""
        return dict(kill_matrix.answer(kill_matrix.spawn(self.options, "look", self.folder)))

    def close(self) -> None:
        """End the workers, and remove what they had."""
        for worker in self.workers:
            worker.kill()
            worker.communicate()
        conformance.psql(f"drop database if exists {self.options.pgdb} with (force)")
        if not os.environ.get("KEEP"):
            shutil.rmtree(self.folder, ignore_errors=True)


def case(options: argparse.Namespace, point: str, mode: str) -> Row:
    """One row of the matrix."""
    one = Case(options, point, mode)
    try:
        return _played(one)
    finally:
        one.close()


def _note_ready(one: Case, worker: subprocess.Popen[str], ready: list[float]) -> None:
    with suppress(AssertionError):  # the first may end the run before the second is ready
        one.ready(worker)
        ready.append(time.monotonic())


def _played(one: Case) -> Row:
    row: Row = {"point": one.point, "mode": one.mode}
    first = one.start("A", one.point, one.mode)
    one.ready(first)
    key = asyncio.run(one.client(one.submit))
    if not _reached(one, first):
        return {**row, "verdict": "skip", "note": f"the point was not reached {one.said()[-200:]}"}
    after, stored = time.monotonic(), len(kill_matrix.lines(f"{one.folder}/acked"))
    acked = kill_matrix.lines(f"{one.folder}/acked")
    if one.mode == "cut":
        kill_matrix.cut(one.options, one.folder)
    second = one.start("B")
    ready: list[float] = []
    threading.Thread(target=_note_ready, args=(one, second, ready), daemon=True).start()
    row |= asyncio.run(one.client(lambda runner, engine: one.finish(runner, engine, key, after, stored)))
    row["start"] = round(ready[0] - after, 2) if ready else None
    bad = [] if row["state"] == "ended" else [f"the run is {row['state']} ({row.get('reason')}) {one.said()[-300:]}"]
    if one.mode == "stop":
        bad += _awake(one, first)
    log = one.look()
    if "ids" not in log:
        bad.append(f"the session cannot be read: {log}")
    else:
        acked = acked if one.mode == "kill" else kill_matrix.lines(f"{one.folder}/acked")
        bad += _judged(one, log, acked, row)
    verdict = "fail" if bad else "asked" if row["asked"] else "pass"
    return {**row, "verdict": verdict, "note": "; ".join(bad)[:500]}


def _reached(one: Case, worker: subprocess.Popen[str]) -> bool:
    """Whether the worker comes to the point, and has died or stopped there."""
    end = time.monotonic() + LONGEST
    ended = {"kill": lambda: worker.poll() is not None, "stop": lambda: _state(worker) == "T"}.get(one.mode, bool)
    while time.monotonic() < end:
        reached = os.path.exists(f"{one.folder}/reached")
        if reached and (one.mode == "cut" or ended()):
            return True
        if worker.poll() is not None and not reached:
            return False
        if not reached and "the end" in one.look().get("texts", []):
            end = min(end, time.monotonic() + 3)  # it has a few events left to store
        time.sleep(0.05)
    return False


def _state(worker: subprocess.Popen[str]) -> str:
    return Path(f"/proc/{worker.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def _awake(one: Case, first: subprocess.Popen[str]) -> list[str]:
    """Let the stopped worker go on, and end it: what it has done meanwhile that it must not."""
    before, paid = one.look(), kill_matrix.lines(f"{one.folder}/effects").count("pay A")
    first.send_signal(signal.SIGCONT)
    time.sleep(1)
    first.send_signal(signal.SIGTERM)
    try:
        first.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        return ["the zombie does not end"]
    bad = []
    if kill_matrix.lines(f"{one.folder}/effects").count("pay A") > paid and one.point != "before-pay":
        bad.append("the zombie let pay take effect after it had been taken over")
    if (extra := len(one.look().get("ids", [])) - len(before.get("ids", []))) != 0:
        bad.append(f"the zombie wrote {extra} event(s)")
    return bad


def _judged(one: Case, log: Row, acked: list[str], row: Row) -> list[str]:
    """What the log and the effects say that must not be."""
    ids = log["ids"]
    effects = collections.Counter(line.split()[0] for line in kill_matrix.lines(f"{one.folder}/effects"))
    row |= {"effects": dict(effects), "events": len(ids)}
    bad = [f"{n} acknowledged event(s) not stored" for n in [len(set(acked) - set(ids))] if n]
    bad += [f"{n} event(s) stored twice" for n in [len(ids) - len(set(ids))] if n]
    if one.mode != "stop" and [i for i in ids if i in set(acked)] != [i for i in acked if i in set(ids)]:
        bad.append("order differs from the order of the acknowledgements")
    if (finals := log["texts"].count("the end")) != 1:
        bad.append(f"{finals} final answers")
    if effects["pay"] > 1 and not (row["asked"] and one.options.confirm == "yes"):
        bad.append(f"pay took effect {effects['pay']} times")
    if effects["pay"] == 0 and not row["asked"]:
        bad.append("pay never ran and nobody was asked")
    bad += [f"call {one_id} has no result" for one_id in set(log["calls"]) - {id_ for id_, _ in log["results"]}]
    return bad + [f"{id_} called {n} times in the log" for id_, n in collections.Counter(log["calls"]).items() if n > 1]


def _uri(database: str) -> str:
    if ENGINE == "dbos":
        return f"dbos://postgres@127.0.0.1/{database}?poll=0.2&heartbeat={LEASE:g}"
    return f"temporal://127.0.0.1:{_temporal()}?lease={LEASE:g}&beat={LEASE / 3:g}"


_servers: list[int] = []


def _temporal() -> int:
    """The port of a development server, which all cases share."""
    if _servers:
        return _servers[0]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    command = [str(Path(sys.executable).with_name("temporal")), "server", "start-dev", "--headless"]
    server = subprocess.Popen(
        [*command, "--ip", "127.0.0.1", "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    atexit.register(server.kill)
    _servers.append(port)
    end = time.monotonic() + LONGEST
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return port
        time.sleep(0.1)
    raise TimeoutError("temporal does not start")
