"""DbosEngine while its database is away."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import psycopg
from tests.contrib.dbos.working import HOST, Working, spec_of, until

from newel.engines import EngineUnavailableError, RunState, queue_name
from newel_dbos import DbosEngine


def away(name: str, allowed: bool) -> None:
    """Close the database's connections, and let nobody in, or open it again."""
    with psycopg.connect(host=HOST, user="postgres", dbname="postgres", autocommit=True) as server:
        server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS {str(allowed).lower()}")  # type: ignore[arg-type]
        if not allowed:
            server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))


def test_workers_go_on_once_the_database_is_there_again(database: str, uri: str) -> None:
    async def main() -> None:
        engine, work = DbosEngine(uri), Working()
        worker = engine.worker(work, [queue_name("away")], concurrency=3)
        await worker.start()
        for name in ("waits-1", "waits-2"):
            await engine.submit(spec_of("away", name))
            await until(engine, f"away:{name}", RunState.RUNNING)
        try:
            away(database, allowed=False)
            work.end("away:waits-1")  # what it says about its end has to wait
            while True:
                try:
                    await engine.submit(spec_of("away", "run-3"))
                except EngineUnavailableError:
                    break
            while "away:waits-2" in work.now:  # cut off for as long as its heartbeat may be missing
                await asyncio.sleep(0.05)
        finally:
            away(database, allowed=True)
        await engine.submit(spec_of("away", "run-4"))
        await until(engine, "away:run-4", RunState.ENDED)
        while work.calls["away:waits-2"] < 2:
            await asyncio.sleep(0.05)
        # The first may begin again, too: what it said about its end has come too late if the outage was long.
        while {record.state for record in await engine.records(app_name="away", most=4)} != {RunState.ENDED}:
            for key in tuple(work.now):
                with suppress(asyncio.InvalidStateError):
                    work.end(key)
            await asyncio.sleep(0.05)
        await worker.drain(0)
        await engine.close()

    asyncio.run(asyncio.wait_for(main(), 120))
