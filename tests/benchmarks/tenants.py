"""Three tenants with two runs at a time each, and 300 runs by the first in one lump: run by hand, against PostgreSQL.

``python -m tests.benchmarks.tenants [RUNS [URI]]`` prints the most runs of each tenant at a time, and for how long the
runs of the others waited, alone and behind the lump. Limits are kept with the sessions, or at the URI
(``redis://127.0.0.1:6379/0?prefix=tenants``).
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from statistics import median
from typing import Any

import psycopg

from newel.agents import LlmAgent
from newel.apps import App
from newel.engines import AgentWork, RunState, SubmittedRun
from newel.models import BaseLlm
from newel.runners import Runner
from newel_compose import compose
from newel_dbos import DbosEngine
from newel_kernel import LlmRequest, LlmResponse
from newel_postgres import PostgresSessionService
from newel_redis import plugin as redis_plugin
from newel_types import Content, Part

HOST = os.environ.get("PGHOST", "127.0.0.1")
NAME = "newel_tenants"
SECONDS = 0.5
_now: Counter[str] = Counter()
_most: Counter[str] = Counter()
_began: dict[str, float] = {}


class Slow(BaseLlm):
    """Takes a while, and notes whose call it is: the message says it."""

    model: str = "slow"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        tenant, _, number = (llm_request.contents[-1].parts or [])[0].text.partition("-")  # type: ignore[union-attr]
        _began[f"{tenant}-{number}"] = time.perf_counter()
        _now[tenant] += 1
        _most[tenant] = max(_most[tenant], _now[tenant])
        try:
            await asyncio.sleep(SECONDS)
        finally:
            _now[tenant] -= 1
        yield LlmResponse(content=Content(role="model", parts=[Part(text="done")]))


async def main(runs: int, kept: str | None) -> None:
    """Few runs of two tenants alone, then behind the lump of the first."""
    with psycopg.connect(host=HOST, user="postgres", dbname="postgres", autocommit=True) as server:
        server.execute(f"DROP DATABASE IF EXISTS {NAME} WITH (FORCE)")
        server.execute(f"CREATE DATABASE {NAME}")
    base = compose("standard").distribution
    limits: dict[str, Any] = {"tenants": {"*": {"concurrency": 2}}}
    settings, services = {**base.settings, "limits": limits}, {**base.services, **({"limits": kept} if kept else {})}
    composition = compose(base.model_copy(update={"settings": settings, "services": services}), plugins=[redis_plugin])
    engine = DbosEngine(f"dbos://postgres@{HOST}/{NAME}?poll=0.2")
    store = PostgresSessionService(f"postgresql://postgres@{HOST}/{NAME}")
    app = App(name="shop", root_agent=LlmAgent(name="clerk", model=Slow()))
    runner = Runner(app=app, session_service=store, composition=composition, engine=engine, auto_create_session=True)
    work = AgentWork([runner])
    worker = engine.worker(work, work.queues, concurrency=8)
    await worker.start()

    async def submitted(name: str) -> tuple[str, float, SubmittedRun]:
        tenant = name.partition("-")[0]
        began = time.perf_counter()
        where = {"user_id": "ada", "session_id": f"s-{name}"}
        return name, began, await runner.submit(**where, new_message=name, tenant=tenant)

    async def waited(names: Sequence[str]) -> list[float]:
        """For how long each waits between its submission and the call of its model, one after the other per tenant."""
        seconds = []
        for name in names:
            _, began, run = await submitted(name)
            while (await run.record()).state is not RunState.ENDED:
                await asyncio.sleep(0.05)
            seconds.append(_began[name] - began)
        return seconds

    async def others(kind: str) -> list[float]:
        both = await asyncio.gather(*(waited([f"{who}-{kind}{n}" for n in range(8)]) for who in ("b", "c")))
        return [one for seconds in both for one in seconds]

    alone = await others("alone")
    began = time.perf_counter()
    lump = await asyncio.gather(*(submitted(f"a-{number}") for number in range(runs)))
    print(f"submitted {runs} in {time.perf_counter() - began:.1f} s", flush=True)
    behind = await others("behind")
    for name, seconds in (("alone", alone), ("behind", behind)):
        print(
            f"{name:7} median {median(seconds):.2f} s, most {max(seconds):.2f} s (a run takes {SECONDS} s)", flush=True
        )
    left = [run for _, _, run in lump]
    while left:
        await asyncio.sleep(2)
        left = [run for run in left if (await run.record()).state is not RunState.ENDED]
    seconds = time.perf_counter() - began
    print(f"{runs} runs of one tenant in {seconds:.0f} s ({runs * SECONDS / 2:.0f} s at best), at a time {dict(_most)}")
    await worker.drain(0)
    await runner.close()
    await engine.close()
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(int([*sys.argv, 300][1]), [*sys.argv, None, None][2]))
