"""With an engine, the server streams what a worker's model says as the bus tells it, and a client that comes back."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, ClassVar

import httpx

from newel import Agent, Runner
from newel.engines import AgentWork, InlineEngine
from newel.server import app
from newel.sessions import SqliteSessionService
from newel.testing import ScriptedModel
from newel_redis import Bus, Publisher

WHERE = {"app_name": "greeter", "user_id": "u", "session_id": "s"}


class Elsewhere(InlineEngine):
    """An engine whose workers are not the server's."""

    in_process: ClassVar[bool] = False


def _texts(answer: httpx.Response) -> list[tuple[str, str]]:
    """The number and the text of each frame."""
    frames = [dict(line.partition(": ")[::2] for line in one.split("\n")) for one in answer.text.split("\n\n")]
    found = [(one["id"].rpartition(":")[2], json.loads(one["data"])) for one in frames if "id" in one]
    return [(number, event["content"]["parts"][0]["text"]) for number, event in found if event.get("content")]


def test_a_workers_partial_events_reach_the_servers_client(server: Any, tmp_path: Path) -> None:
    async def main() -> None:
        engine, path = Elsewhere(), str(tmp_path / "s.db")
        stores = [SqliteSessionService(path) for _ in range(3)]
        agents = {"greeter": Agent(name="greeter", model=ScriptedModel([]))}  # it is asked nothing here
        apps = [app(agents=agents, session_service=one, engine=engine, bus=Bus(server.url)) for one in stores[:2]]
        model = ScriptedModel([["good ", "day"]])
        runner = Runner(
            agent=Agent(name="greeter", model=model),
            app_name="greeter",
            session_service=stores[2],
            plugins=[Publisher(Bus(server.url))],
        )
        await stores[0].create_session(**WHERE)
        clients = [
            httpx.AsyncClient(transport=httpx.ASGITransport(app=one), base_url="http://127.0.0.1") for one in apps
        ]
        body = {**WHERE, "streaming": True, "new_message": {"parts": [{"text": "hi"}]}}
        streaming = asyncio.create_task(clients[0].post("/run_sse", json=body))
        while not server.client.pubsub_channels():
            await asyncio.sleep(0.01)
        work = AgentWork([runner])
        worker = engine.worker(work, work.queues)
        await worker.start()
        answer = await streaming
        assert _texts(answer) == [("1", "good "), ("1", "day"), ("2", "good day")]
        (record,) = await engine.records()
        last = {"last-event-id": f"{record.spec.invocation_id}:1"}
        again = await clients[1].post("/run_sse", json=body, headers=last)  # at another server process
        assert _texts(again) == [("2", "good day")]
        assert len(await engine.records()) == 1
        for one in (*clients, runner):
            await (one.aclose() if isinstance(one, httpx.AsyncClient) else one.close())
        for application in apps:
            await application.close()
        await stores[2].close()

    asyncio.run(main())
