"""With an engine, the server submits and follows, and a worker runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest

from newel import Agent
from newel.engines import AgentWork, EngineUnavailableError, EngineWorker, InlineEngine, RunState
from newel.engines.places import place_of
from newel.runners import Runner
from newel.server import Options, app
from newel.sessions import InMemorySessionService, SqliteSessionService
from newel.testing import ScriptedModel
from newel.tools import FunctionTool
from newel_compose import compose
from newel_types import FunctionCall

WHERE = {"app_name": "clerk", "user_id": "u", "session_id": "s"}
RUNS = "/apps/clerk/users/u/sessions/s/runs"


class Elsewhere(InlineEngine):
    """An engine whose workers are not the server's."""

    in_process: ClassVar[bool] = False


class World:
    """A server, and a worker that has the same store and engine and an agent of its own."""

    def __init__(self, *steps: Any, busy: str = "refuse", most: int = 500) -> None:
        self.engine, self.store = Elsewhere(), InMemorySessionService()
        self.begun = asyncio.Event()
        self.gate = asyncio.Event()
        tools = [FunctionTool(self.pay, require_confirmation=True), self.hang]
        agent = Agent(name="clerk", model=ScriptedModel(steps), tools=tools)
        self.runner = Runner(app_name="clerk", agent=agent, session_service=self.store)
        served = {"clerk": Agent(name="clerk", model=ScriptedModel([]), tools=tools)}  # it is asked nothing here
        settings = {"claims": {"busy": busy}}
        composition = compose(compose("standard").distribution.model_copy(update={"settings": settings}))
        self.app = app(
            agents=served,
            session_service=self.store,
            engine=self.engine,
            composition=composition,
            options=Options(max_runs=most, development=True),
        )

    async def pay(self) -> str:
        """Pay."""
        return "paid"

    async def hang(self) -> str:
        """Wait."""
        self.begun.set()
        await self.gate.wait()
        return "over"

    def runner_elsewhere(self) -> Runner:
        """Another process's, which submits to the same engine."""
        return Runner(app_name="clerk", agent=self.runner.agent, session_service=self.store, engine=self.engine)

    async def worker(self) -> EngineWorker:
        work = AgentWork([self.runner])
        worker = self.engine.worker(work, work.queues)
        await worker.start()
        return worker

    @asynccontextmanager
    async def client(self) -> AsyncIterator[httpx.AsyncClient]:
        await self.store.create_session(**WHERE)
        transport = httpx.ASGITransport(app=self.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            yield client
        await self.app.close()


def _frames(answer: httpx.Response) -> list[tuple[str, Any]]:
    frames = [dict(line.partition(": ")[::2] for line in one.split("\n")) for one in answer.text.strip().split("\n\n")]
    return [(one.get("id", ""), json.loads(one["data"])) for one in frames if "data" in one]


def _said(event: Any) -> Any:
    return event["content"]["parts"][0].get("text")


def test_a_worker_runs_what_is_sent() -> None:
    async def main() -> None:
        world = World("good morning", "good night")
        async with world.client() as client:
            await world.worker()
            answer = await client.post("/run", json={**WHERE, "new_message": {"parts": [{"text": "hi"}]}})
            assert answer.status_code == 200
            assert [_said(event) for event in answer.json() if event.get("content")] == ["good morning"]
            streamed = await client.post("/run_sse", json={**WHERE, "new_message": {"parts": [{"text": "bye"}]}})
            frames = _frames(streamed)
            assert [_said(event) for _, event in frames if event.get("content")] == ["good night"]
            (record, _) = await world.engine.records()
            assert (record.state, record.spec.tenant) == (RunState.ENDED, "u")
            again = await client.get(f"{RUNS}/{record.spec.invocation_id}/events")
            assert _frames(again) == frames

    asyncio.run(main())


def test_a_pause_ends_the_answer_and_an_approval_goes_on() -> None:
    async def main() -> None:
        world = World([FunctionCall(name="pay", args={})], "thanks")
        async with world.client() as client:
            await world.worker()
            asked = await client.post("/run", json={**WHERE, "newMessage": {"parts": [{"text": "pay"}]}})
            calls = [
                part["functionCall"]
                for event in asked.json()
                for part in event["content"]["parts"]
                if "functionCall" in part
            ]
            response = {"id": calls[-1]["id"], "name": calls[-1]["name"], "response": {"confirmed": True}}
            message = {"role": "user", "parts": [{"functionResponse": response}]}
            answer = await client.post("/run", json={**WHERE, "newMessage": message})
            assert [_said(event) for event in answer.json() if event.get("content")][-1] == "thanks"
            assert "functionCall" not in json.dumps(answer.json())  # what came before is not news
            assert len(await world.engine.records()) == 1

    asyncio.run(main())


def test_a_queued_run_is_followed_and_a_run_elsewhere_is_cancelled() -> None:
    async def main() -> None:
        world = World([FunctionCall(name="hang", args={})])
        async with world.client() as client:
            run = await world.app.state.runner("clerk")
            submitted = await run.submit(user_id="u", session_id="s", new_message="hang")
            path = f"{RUNS}/{submitted.invocation_id}"
            following = asyncio.create_task(client.get(f"{path}/events"))
            assert (await client.get(f"{RUNS}/nothing/events")).status_code == 404
            await world.store.create_session(**{**WHERE, "user_id": "v"})
            foreign = path.replace("/users/u/", "/users/v/")
            assert (await client.get(f"{foreign}/events")).status_code == 404  # another user's session has no such run
            await world.worker()
            await world.begun.wait()
            answer = await client.post(f"{path}/cancel")
            assert answer.json() == {
                "id": submitted.invocation_id,
                "invocationId": submitted.invocation_id,
                "status": "cancelled",
            }
            frames = _frames(await following)
            assert "cancelled" in json.dumps(frames[-1][1])
            assert (await submitted.record()).state is RunState.CANCELLED
            assert (await client.post(f"{path}/cancel")).status_code == 409

    asyncio.run(main())


def test_an_engine_that_is_away_is_named_and_no_session_is_deleted_without_its_runs() -> None:
    async def main() -> None:
        world = World()

        async def away(*_: Any, **__: Any) -> Any:
            raise EngineUnavailableError("engine.internal:7233 did not answer", retry_after=2.5)

        async with world.client() as client:
            world.engine.submit = away  # type: ignore[method-assign]
            world.engine.records = away  # type: ignore[method-assign]
            session = "/apps/clerk/users/u/sessions/s"
            for answer in (
                await client.post("/run", json={**WHERE, "new_message": _text("hi")}),
                await client.delete(session),
            ):
                detail = {"detail": "The engine of the runs cannot be reached: try again"}
                assert (answer.status_code, answer.json()) == (503, detail)
                assert answer.headers["retry-after"] == "3"
            assert (await client.get(session)).status_code == 200

    asyncio.run(main())


def test_a_deleted_session_ends_its_own_runs_and_asks_for_no_others() -> None:
    async def main() -> None:
        world, asked = World("hi", "hi"), list[Any]()
        records = world.engine.records

        async def noted(**which: Any) -> Any:
            found = await records(**which)
            asked.extend(place_of(one.spec) for one in found)
            return found

        async with world.client() as client:
            world.engine.records = noted  # type: ignore[method-assign,assignment]
            await world.store.create_session(**{**WHERE, "session_id": "other"})
            runner = await world.app.state.runner("clerk")
            own = await runner.submit(user_id="u", session_id="s", new_message="hi")
            other = await runner.submit(user_id="u", session_id="other", new_message="hi")
            assert (await client.delete("/apps/clerk/users/u/sessions/s")).status_code == 200
            assert asked == [WHERE]
            assert ((await own.record()).state, (await other.record()).state) == (RunState.CANCELLED, RunState.QUEUED)

    asyncio.run(main())


def test_what_an_engine_does_not_take_is_refused() -> None:
    async def main() -> None:
        async with World().client() as client:
            body = {**WHERE, "new_message": {"parts": [{"text": "hi"}]}, "state_delta": {"x": "y" * 70_000}}
            answer = await client.post("/run", json=body)
            assert (answer.status_code, answer.json()["detail"].partition(":")[0]) == (422, "state_delta")

    asyncio.run(main())


def test_a_posted_answer_is_a_workers() -> None:
    async def main() -> None:
        world = World([FunctionCall(name="pay", args={})], "thanks")
        async with world.client() as client:
            await world.worker()
            asked = await client.post("/run", json={**WHERE, "newMessage": {"parts": [{"text": "pay"}]}})
            (question,) = (await client.get("/apps/clerk/users/u/sessions/s/questions")).json()
            path = f"/apps/clerk/users/u/sessions/s/questions/{question['id']}"
            answer = await client.post(path, json={"answer": True, "follow": True})
            assert [_said(event) for _, event in _frames(answer) if event.get("content")][-1] == "thanks"
            (record,) = await world.engine.records()
            assert (record.state, record.spec.invocation_id) == (RunState.ENDED, asked.json()[0]["invocationId"])
            assert (await client.post(path, json={"answer": True})).status_code == 404

    asyncio.run(main())


def test_an_agent_at_a_worker_is_told() -> None:
    async def main() -> None:
        world = World([FunctionCall(name="hang", args={})], "ready", "good night")
        async with world.client() as client:
            await world.worker()
            following = asyncio.create_task(client.post("/run", json={**WHERE, "newMessage": _text("dig")}))
            await world.begun.wait()
            told = asyncio.create_task(
                client.post("/apps/clerk/users/u/sessions/s/steer", json={"newMessage": _text("only the garden")})
            )
            assert (await told).json()["status"] in ("running", "done")
            world.gate.set()
            assert [_said(event) for event in (await following).json() if event.get("content")][-1] == "ready"
            alone = await client.post("/apps/clerk/users/u/sessions/s/steer", json={"newMessage": _text("bye")})
            again = await client.get(f"{RUNS}/{alone.json()['id']}/events")
            assert alone.status_code == again.status_code == 200, again.text
            session = await world.store.get_session(**WHERE)
            assert session is not None
            said = [event.text for event in session.events if event.text]
            assert said == ["dig", "only the garden", "ready", "bye", "good night"]
            assert len(await world.engine.records()) == 2

    asyncio.run(main())


def test_a_stream_begins_before_a_worker_is_there() -> None:
    async def main() -> None:
        world = World("good morning")
        async with world.client() as client:
            await world.app.state.runner("clerk")
            streaming = asyncio.create_task(client.post("/run_sse", json={**WHERE, "newMessage": _text("hi")}))
            while not (runs := (await client.get(RUNS)).json()):
                await asyncio.sleep(0.01)
            assert runs[0]["invocationId"]  # it is known before a worker has begun
            cancelled = await client.post(f"{RUNS}/{runs[0]['invocationId']}/cancel")
            assert cancelled.json()["status"] == "cancelled"
            ((_, frame),) = _frames(await streaming)
            assert (frame["code"], (await world.engine.records())[0].state) == (409, RunState.CANCELLED)

    asyncio.run(main())


async def _begun(world: World, client: httpx.AsyncClient) -> asyncio.Task[httpx.Response]:
    """A worker that hangs in the run of the session, and the client that waits for the answer."""
    await world.worker()
    first = asyncio.create_task(client.post("/run", json={**WHERE, "newMessage": _text("dig")}))
    await world.begun.wait()
    return first


@pytest.mark.parametrize("busy", ["refuse", "queue", "interrupt", "steer"])
def test_a_second_message_is_treated_as_the_settings_of_claims_say(busy: str) -> None:
    async def main() -> None:
        world = World([FunctionCall(name="hang", args={})], "one", "two", busy=busy)
        body = {**WHERE, "newMessage": _text("only the garden")}
        async with world.client() as client:
            first = await _begun(world, client)
            second = asyncio.create_task(client.post("/run", json=body))
            if busy == "refuse":
                assert (await second).status_code == (await client.post("/run_sse", json=body)).status_code == 409
                assert len(await world.engine.records()) == 1
            elif busy == "interrupt":
                assert (await first).status_code == 409
                assert (await second).status_code == 200
            else:  # it is there, and holds up nobody
                while not (len(await world.engine.records()) == 2 or len(await _stored(world)) > 2):
                    await asyncio.sleep(0.01)
            world.gate.set()
            states = [(await first).status_code, (await second).status_code]
            assert states == {"refuse": [200, 409], "interrupt": [409, 200]}.get(busy, [200, 200])
            said = [event.text for event in await _stored(world) if event.text]
            assert (
                said
                == {
                    "refuse": ["dig", "one"],
                    "queue": ["dig", "one", "only the garden", "two"],
                    "interrupt": ["dig", "only the garden", "one"],
                    "steer": ["dig", "only the garden", "one"],
                }[busy]
            )
            assert len(await world.engine.records()) == (2 if busy in ("queue", "interrupt") else 1)

    asyncio.run(main())


def test_of_two_messages_at_once_one_is_refused_and_a_waiting_run_refuses_none() -> None:
    async def main() -> None:
        world = World([FunctionCall(name="pay", args={})], "good night", "thanks")
        body = {**WHERE, "newMessage": _text("pay")}
        async with world.client() as client:
            both = [asyncio.create_task(client.post("/run", json=body)) for _ in range(2)]
            while not any(one.done() for one in both):
                await asyncio.sleep(0.01)
            await world.worker()
            assert sorted([(await one).status_code for one in both]) == [200, 409]
            (waiting,) = (await client.get(RUNS)).json()
            assert (waiting["status"], waiting["sessionId"]) == ("paused", "s")
            assert (await client.post("/run", json={**WHERE, "newMessage": _text("bye")})).status_code == 200
            (question,) = (await client.get("/apps/clerk/users/u/sessions/s/questions")).json()
            path = f"/apps/clerk/users/u/sessions/s/questions/{question['id']}"
            assert (await client.post(path, json={"answer": True, "follow": True})).status_code == 200
            assert (await client.get(RUNS)).json() == []

    asyncio.run(main())


def test_the_runs_of_a_session_and_of_a_user_are_listed_whoever_submitted_them() -> None:
    async def main() -> None:
        world = World()
        async with world.client() as client:
            for user, session in (("u", "s"), ("u", "t"), ("v", "s")):
                if (user, session) != ("u", "s"):
                    await world.store.create_session(app_name="clerk", user_id=user, session_id=session)
                await world.runner_elsewhere().submit(
                    user_id=user, session_id=session, new_message="hi", invocation_id=f"{user}{session}"
                )
            (listed,) = (await client.get(RUNS)).json()
            expected = {"id": "us", "invocationId": "us", "status": "queued", "sessionId": "s", "reason": ""}
            assert listed == expected
            of_user = (await client.get("/apps/clerk/users/u/runs")).json()
            assert sorted(one["id"] for one in of_user) == ["us", "ut"]
            assert (await client.post(f"{RUNS}/us/cancel")).json()["status"] == "cancelled"
            assert (await client.get(RUNS)).json() == []
            assert (await client.get("/apps/clerk/users/u/sessions/none/runs")).status_code == 404

    asyncio.run(main())


def test_a_session_whose_run_others_have_is_said_to_be_running() -> None:
    async def main() -> None:
        world = World([FunctionCall(name="hang", args={})], "over", [FunctionCall(name="pay", args={})])
        listed = "/dev/apps/clerk/users/u/session-summaries"

        async def status(client: httpx.AsyncClient) -> str:
            ((one,),) = ((await client.get(listed)).json()["sessions"],)
            return str(one["status"])

        async with world.client() as client:
            assert await status(client) == "done"
            other = world.runner_elsewhere()
            await other.submit(user_id="u", session_id="s", new_message="hang")
            assert await status(client) == "running"  # it waits for a worker
            await world.worker()
            await world.begun.wait()
            assert await status(client) == "running"
            world.gate.set()
            while (await client.get(RUNS)).json():
                await asyncio.sleep(0.01)
            assert await status(client) == "done"
            await (await other.submit(user_id="u", session_id="s", new_message="pay")).wait()
            assert await status(client) == "asks"

            async def away(*_: Any, **__: Any) -> Any:
                raise EngineUnavailableError("engine.internal:7233 did not answer")

            world.engine.records = away  # type: ignore[method-assign]
            assert await status(client) == "asks"

    asyncio.run(main())


def test_a_session_that_another_process_runs_without_an_engine_is_said_to_be_running(tmp_path: Path) -> None:
    async def main() -> None:
        path = str(tmp_path / "s.db")
        async with SqliteSessionService(path) as here, SqliteSessionService(path) as there:
            world = World([FunctionCall(name="hang", args={})], "over")
            runner = Runner(app_name="clerk", agent=world.runner.agent, session_service=there)
            await there.create_session(**WHERE)  # type: ignore[arg-type]
            server = app(agents={"clerk": runner.agent}, session_service=here, options=Options(development=True))
            transport = httpx.ASGITransport(app=server)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:

                async def statuses() -> list[str]:
                    listed = await client.get("/dev/apps/clerk/users/u/session-summaries")
                    return [one["status"] for one in listed.json()["sessions"]]

                run = runner.start(user_id="u", session_id="s", new_message="hang")
                await world.begun.wait()
                assert await statuses() == ["running"]
                world.gate.set()
                await run.wait()
                while await statuses() != ["done"]:  # the lease is given back behind the run
                    await asyncio.sleep(0.01)
            await server.close()
            await runner.close()

    asyncio.run(asyncio.wait_for(main(), 60))


async def _asked(client: httpx.AsyncClient) -> dict[str, Any]:
    """The body of the answer to what a run asks, which has begun."""
    await client.post("/run", json={**WHERE, "newMessage": _text("pay")})
    (question,) = (await client.get("/apps/clerk/users/u/sessions/s/questions")).json()
    response = {"id": question["id"], "name": "adk_request_confirmation", "response": {"confirmed": True}}
    return {**WHERE, "newMessage": {"role": "user", "parts": [{"functionResponse": response}]}}


def test_a_second_answer_is_a_conflict() -> None:
    async def main() -> None:
        world = World([FunctionCall(name="pay", args={})], "thanks")
        async with world.client() as client:
            await world.worker()
            body = await _asked(client)
            answers = [await client.post("/run", json=body) for _ in range(2)]
            assert [one.status_code for one in answers] == [200, 409]
            assert "answered before" in answers[1].json()["detail"]

    asyncio.run(main())


def test_an_answer_to_a_cancelled_run_is_a_conflict() -> None:
    async def main() -> None:
        world = World([FunctionCall(name="pay", args={})], "thanks")
        async with world.client() as client:
            await world.worker()
            body = await _asked(client)
            (run,) = (await client.get(RUNS)).json()
            await client.post(f"{RUNS}/{run['id']}/cancel")
            while (await client.get(RUNS)).json():
                await asyncio.sleep(0.01)
            answer = await client.post("/run", json=body)
            assert (answer.status_code, "takes no answer" in answer.text) == (409, True)

    asyncio.run(main())


def test_a_run_that_this_process_does_not_take_is_not_submitted() -> None:
    async def main() -> None:
        world = World("one", most=1)
        async with world.client() as client:
            body = {**WHERE, "newMessage": _text("hi")}
            first = asyncio.create_task(client.post("/run", json=body))
            while not (await client.get(RUNS)).json():
                await asyncio.sleep(0.01)
            await world.store.create_session(**{**WHERE, "session_id": "t"})
            assert (await client.post("/run", json={**body, "session_id": "t"})).status_code == 429
            assert len(await world.engine.records()) == 1
            await world.worker()
            assert (await first).status_code == 200

    asyncio.run(main())


async def _stored(world: World) -> list[Any]:
    session = await world.store.get_session(**WHERE)
    return [*session.events] if session is not None else []


def _text(text: str) -> Any:
    return {"role": "user", "parts": [{"text": text}]}
