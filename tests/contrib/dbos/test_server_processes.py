"""Two servers over one PostgreSQL: what comes to both at one moment is decided there."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest
from tests.contrib.dbos.working import HOST

from newel import Agent, Runner
from newel.engines import AgentWork
from newel.server import app
from newel.testing import ScriptedModel
from newel_compose import compose
from newel_dbos import DbosEngine
from newel_postgres import PostgresSessionService


@pytest.mark.parametrize("busy", ["refuse", "interrupt"])
def test_of_two_messages_at_two_servers_at_once_the_store_lets_one_through(busy: str, uri: str, database: str) -> None:
    name, rounds = f"twice-{busy}", 6

    async def main() -> list[list[int]]:
        base = compose("standard").distribution
        composition = compose(base.model_copy(update={"settings": {**base.settings, "claims": {"busy": busy}}}))
        async with AsyncExitStack() as stack:
            stores = [PostgresSessionService(f"postgresql://postgres@{HOST}/{database}") for _ in range(3)]
            engines = [DbosEngine(uri) for _ in range(3)]
            agent = Agent(name="clerk", model=ScriptedModel(["good day"] * 4 * rounds))
            apps = [
                app(agents={name: agent}, session_service=store, engine=engine, composition=composition)
                for store, engine in zip(stores, engines, strict=False)
            ][:2]
            clients = [
                await stack.enter_async_context(
                    httpx.AsyncClient(transport=httpx.ASGITransport(app=one), base_url="http://127.0.0.1", timeout=60)
                )
                for one in apps
            ]
            found = []
            for number in range(rounds):
                where = {"app_name": name, "user_id": "u", "session_id": f"s-{number}"}
                await stores[0].create_session(**where)  # type: ignore[arg-type]
                body: Any = {**where, "new_message": {"parts": [{"text": "hi"}]}}
                answers = [asyncio.create_task(client.post("/run", json=body)) for client in clients]
                while not (records := await engines[2].records(app_name=name, session=where)):  # type: ignore[arg-type]
                    await asyncio.sleep(0.01)
                await asyncio.sleep(0.3)
                runner = Runner(app_name=name, agent=agent, session_service=stores[2], composition=composition)
                work = AgentWork([runner])
                worker = engines[2].worker(work, work.queues)
                await worker.start()
                codes = sorted([(await one).status_code for one in answers])
                await worker.drain(5)
                records = await engines[2].records(app_name=name, session=where)  # type: ignore[arg-type]
                found.append([*codes, sum(str(one.state) == "ended" for one in records)])
            for one in (*apps, *engines[2:], *stores[2:]):
                await one.close()
            return found

    assert asyncio.run(main()) == [[200, 409, 1]] * rounds
