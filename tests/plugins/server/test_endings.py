"""How a run ended is said by one rule: at every door, and whether it runs in the server or at a worker."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, ClassVar

import httpx
import pytest

from newel import Agent
from newel.engines import AgentWork, EngineWorker, InlineEngine, RunState
from newel.models import BaseLlm, LlmRequest, LlmResponse
from newel.runners import Runner
from newel.server import app
from newel.sessions import InMemorySessionService
from newel.tools import FunctionTool
from newel_types import Content, FunctionCall, Part

WHERE = {"app_name": "clerk", "user_id": "u", "session_id": "s"}
SESSION = "/apps/clerk/users/u/sessions/s"
SECRET = "password=hunter2"
#: (door, path, what the body has besides the message)
DOORS = [("/run", {}), ("/run_sse", {}), ("/run_sse", {"streaming": True})]


class Elsewhere(InlineEngine):
    """An engine whose workers are not the server's."""

    in_process: ClassVar[bool] = False


class Obeying(BaseLlm):
    """Does what it is told: says it, fails, or calls the tool of that name."""

    model: str = "obeying"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        part = llm_request.contents[-1].parts[-1]
        if part.text == "fail":
            raise RuntimeError(SECRET)
        part = Part(function_call=FunctionCall(name=part.text)) if part.text in ("pay", "hang") else Part(text="good")
        yield LlmResponse(content=Content(role="model", parts=[part]))


class World:
    """A server with or without an engine; with one, a worker has the same store, and an agent of its own."""

    def __init__(self, *, has_engine: bool) -> None:
        self.engine = Elsewhere() if has_engine else None
        self.store = InMemorySessionService()
        self.begun, self.gate = asyncio.Event(), asyncio.Event()
        self.app = app(agents={"clerk": self._agent()}, session_service=self.store, engine=self.engine)
        self.runner = Runner(
            app_name="clerk", agent=self._agent(), session_service=self.store, engine=self.engine or InlineEngine()
        )

    def _agent(self) -> Any:
        return Agent(
            name="clerk", model=Obeying(), tools=[FunctionTool(self.pay, require_confirmation=True), self.hang]
        )

    async def pay(self) -> str:
        """Pay."""
        return "paid"

    async def hang(self) -> str:
        """Wait."""
        self.begun.set()
        await self.gate.wait()
        return "over"

    async def has_begun(self) -> None:
        """Wait until the tool is called."""
        async with asyncio.timeout(60):
            await self.begun.wait()

    async def worker(self) -> EngineWorker | None:
        if self.engine is None:
            return None
        work = AgentWork([self.runner])
        worker = self.engine.worker(work, work.queues)
        await worker.start()
        return worker

    @asynccontextmanager
    async def client(self) -> AsyncIterator[httpx.AsyncClient]:
        await self.store.create_session(**WHERE)
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app=self.app), base_url="http://127.0.0.1"
        ) as client:
            yield client
        await self.app.close()
        if self.engine is not None:
            await self.engine.close()


def heard(answer: httpx.Response) -> tuple[int, list[str]]:
    """The status (that of an error's frame, if there is one), and the texts; the exception's text is in none."""
    assert SECRET not in answer.text
    if not answer.headers["content-type"].startswith("text/event-stream"):
        events = answer.json() if answer.status_code == 200 else []
        status = answer.status_code
    else:
        assert answer.text.endswith(": end\n\n")
        frames = [line[6:] for line in answer.text.split("\n") if line.startswith("data: ")]
        events = [*map(json.loads, frames)]
        last = events.pop() if events and "error" in events[-1] else {}
        status = last.get("code", answer.status_code)
        if status == 500:
            assert set(last) == {"error", "code", "ref"}
    assert not any("errorMessage" in event or "error" in event for event in events)
    parts = [part for event in events for part in event.get("content", {}).get("parts", [])]
    return status, [part["text"] for part in parts if "text" in part]


async def invocation_of(world: World) -> str:
    session = await world.store.get_session(**WHERE)
    assert session is not None
    return session.events[-1].invocation_id


async def again(world: World, client: httpx.AsyncClient, invocation: str) -> list[tuple[int, list[str]]]:
    """What those hear who come after the end."""
    path = f"{SESSION}/runs/{invocation}/events"
    answers = [
        await client.get(path),
        await client.get(path, headers={"last-event-id": f"{invocation}:0"}),
        await client.post("/run_sse", json=body("x"), headers={"last-event-id": f"{invocation}:0"}),
    ]
    for answer in answers[1:]:
        assert heard(answer) == heard(answers[0])
    return [heard(answers[0]), heard(await client.get(path, params={"after": 100}))]


def body(text: str, **more: Any) -> dict[str, Any]:
    return {**WHERE, "new_message": {"role": "user", "parts": [{"text": text}]}, **more}


@pytest.mark.parametrize("has_engine", [False, True], ids=["here", "engine"])
def test_a_run_that_ends_by_itself(has_engine: bool) -> None:
    async def main() -> None:
        world = World(has_engine=has_engine)
        async with world.client() as client:
            await world.worker()
            for path, more in DOORS:
                for text, status, texts in (("hello", 200, ["good"]), ("fail", 500, []), ("pay", 200, [])):
                    assert heard(await client.post(path, json=body(text, **more))) == (status, texts), (path, text)
                    invocation = await invocation_of(world)
                    assert await again(world, client, invocation) == [(status, texts), (status, [])], (path, text)

    asyncio.run(main())


@pytest.mark.parametrize("has_engine", [False, True], ids=["here", "engine"])
@pytest.mark.parametrize("by", ["client", "deletion", "elsewhere"])
def test_a_run_that_is_cancelled(by: str, has_engine: bool) -> None:
    if by == "elsewhere" and not has_engine:
        pytest.skip("without an engine, only its own process can cancel a run")

    async def main() -> None:
        world = World(has_engine=has_engine)
        async with world.client() as client:
            await world.worker()
            for path, more in DOORS:
                world.begun.clear()
                asked = asyncio.create_task(client.post(path, json=body("hang", **more)))
                await world.has_begun()
                invocation = await invocation_of(world)
                following = asyncio.create_task(client.get(f"{SESSION}/runs/{invocation}/events"))
                await asyncio.sleep(0.05)
                if by == "client":
                    answer = await client.post(f"{SESSION}/runs/{invocation}/cancel")
                    assert answer.json()["status"] == "cancelled"
                elif by == "deletion":
                    assert (await client.delete(SESSION)).status_code == 200
                else:
                    await world.runner.cancel_run(user_id="u", session_id="s", invocation_id=invocation)
                assert heard(await asked) == (409, []), path
                assert heard(await following) == (409, []), path
                if by == "deletion":
                    assert (await client.get(f"{SESSION}/runs/{invocation}/events")).status_code == 404
                    await world.store.create_session(**WHERE)
                    continue
                # Without an engine there is the log alone, which does not say that a run was cancelled.
                assert {status for status, _ in await again(world, client, invocation)} == {409 if has_engine else 200}

    asyncio.run(main())


def test_a_run_that_an_engine_ends() -> None:
    async def main() -> None:
        world = World(has_engine=True)
        async with world.client() as client:
            where = {"user_id": "u", "session_id": "s"}
            late = await world.runner.submit(**where, new_message="hello", seconds=0.2)
            assert [status for status, _ in await _follow_queued(client, late.invocation_id)] == [504]
            misfit = await world.runner.submit(**where, new_message="hello")
            following = asyncio.create_task(_follow_queued(client, misfit.invocation_id))
            await asyncio.sleep(0.05)
            world.engine._runs[misfit.key].set(RunState.MISFIT, "VersionMismatch: no worker")  # type: ignore[union-attr]
            assert [status for status, _ in await following] == [503]

    asyncio.run(main())


async def _follow_queued(client: httpx.AsyncClient, invocation: str) -> list[tuple[int, list[str]]]:
    return [heard(await client.get(f"{SESSION}/runs/{invocation}/events"))]


def test_a_run_whose_worker_leaves_goes_on() -> None:
    async def main() -> None:
        world = World(has_engine=True)
        async with world.client() as client:
            first = await world.worker()
            asked = asyncio.create_task(client.post("/run_sse", json=body("hang", streaming=True)))
            await world.has_begun()
            assert first is not None
            await first.drain(0)
            world.gate.set()
            await world.worker()
            assert heard(await asked) == (200, ["good"])

    asyncio.run(main())


def test_deleting_a_session_ends_what_other_processes_have_of_it() -> None:
    async def main() -> None:
        world = World(has_engine=True)
        async with world.client() as client:
            where = {"user_id": "u", "session_id": "s"}
            await world.worker()
            paused = await world.runner.submit(**where, new_message="pay")
            await paused.wait()
            running = await world.runner.submit(**where, new_message="hang")
            await world.has_begun()
            queued = await world.runner.submit(**where, new_message="hello")
            assert (await client.delete(SESSION)).status_code == 200
            states = [(await run.record()).state for run in (paused, running, queued)]
            assert states == [RunState.CANCELLED] * 3

    asyncio.run(main())


@pytest.mark.parametrize("has_engine", [False, True])
def test_no_client_says_what_newel_itself_notes_in_events(has_engine: bool) -> None:
    async def main() -> None:
        world = World(has_engine=has_engine)
        async with world.client() as client:
            for path, more in DOORS:
                sent = body("hello", custom_metadata={"newel.failure": True}, **more)
                answer = await client.post(path, json=sent)
                assert answer.status_code == 422, answer.text
                assert "newel.failure" in answer.text

    asyncio.run(main())
