"""One run per session: what a second run meets, in this process and across processes."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from newel import Agent, App, Runner
from newel.apps import ResumabilityConfig
from newel.claims import SessionBusyError
from newel.claims.claim import Claim
from newel.sessions import BaseSessionService, InMemorySessionService, SqliteSessionService
from newel.testing import ScriptedModel
from newel_compose import Composition, compose
from newel_kernel import ConfigurationError, Event, EventActions, FencedError, StaleSessionError
from newel_types import Content, FunctionCall, Part

AT: dict[str, Any] = {"user_id": "u", "session_id": "s"}
WHERE: dict[str, Any] = {"app_name": "house", **AT}


class Kitchen:
    """A tool that waits until it is let go on."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()
        self.cooked = 0

    async def cook(self) -> str:
        """Cook."""
        self.begun.set()
        await self.go_on.wait()
        self.cooked += 1
        return "done"


def composed(tmp_path: Path, **settings: Any) -> Composition:
    file = tmp_path / "mine.yaml"
    lines = "".join(f"    {name}: {value}\n" for name, value in settings.items())
    file.write_text(f"name: mine\nextends: standard\nsettings:\n  claims:\n{lines}", encoding="utf-8")
    return compose(file)


def runner(kitchen: Kitchen, store: BaseSessionService, composition: Any = None, *steps: Any) -> Runner:
    script = steps or (FunctionCall(name="cook", args={}), "served")
    agent = Agent(name="cook", model=ScriptedModel(list(script)), tools=[kitchen.cook])
    app = App(name="house", root_agent=agent, resumability_config=ResumabilityConfig(is_resumable=True))
    return Runner(
        app=app, session_service=store, auto_create_session=True, composition=composition or compose("standard")
    )


async def events_of(run: AsyncGenerator[Event, None]) -> list[Event]:
    async with aclosing(run) as events:
        return [event async for event in events]


def texts(events: list[Event]) -> list[str]:
    return [part.text for e in events if e.content for part in e.content.parts or () if part.text]


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], BaseSessionService]:
    if request.param == "memory":
        return InMemorySessionService
    return lambda: SqliteSessionService(tmp_path / "s.db")


class TestInOneProcess:
    def test_a_second_run_is_refused_and_the_first_is_not_disturbed(self, store: Any) -> None:
        async def main() -> None:
            kitchen, service = Kitchen(), store()
            first = asyncio.create_task(events_of(runner(kitchen, service).run_async(**AT, new_message="eat")))
            await kitchen.begun.wait()
            with pytest.raises(SessionBusyError, match="'s' has a run already: wait for its end, or set `busy: queue`"):
                await events_of(runner(kitchen, service, None, "me too").run_async(**AT, new_message="eat"))
            kitchen.go_on.set()
            assert texts(await first) == ["served"]
            assert texts(await events_of(runner(kitchen, service, None, "now").run_async(**AT, new_message="eat"))) == [
                "now"
            ]
            session = await service.get_session(**WHERE)
            assert texts(session.events) == ["eat", "served", "eat", "now"]
            await service.close()

        asyncio.run(main())

    def test_a_run_cannot_be_resumed_beside_itself(self, store: Any) -> None:
        async def main() -> None:
            kitchen, service = Kitchen(), store()
            run = runner(kitchen, service)
            first = asyncio.create_task(events_of(run.run_async(**AT, new_message="eat")))
            await kitchen.begun.wait()
            session = await service.get_session(**WHERE)
            with pytest.raises(SessionBusyError):
                await events_of(run.run_async(**AT, invocation_id=session.events[0].invocation_id))
            kitchen.go_on.set()
            await first
            assert kitchen.cooked == 1
            await service.close()

        asyncio.run(main())

    def test_other_sessions_are_free(self, store: Any) -> None:
        async def main() -> None:
            kitchen, service = Kitchen(), store()
            first = asyncio.create_task(events_of(runner(kitchen, service).run_async(**AT, new_message="eat")))
            await kitchen.begun.wait()
            other = runner(kitchen, service, None, "hello").run_async(user_id="u", session_id="t", new_message="hi")
            assert texts(await events_of(other)) == ["hello"]
            kitchen.go_on.set()
            await first
            await service.close()

        asyncio.run(main())

    def test_queued_runs_go_one_after_the_other(self, store: Any, tmp_path: Path) -> None:
        async def main() -> None:
            kitchen, service, queueing = Kitchen(), store(), composed(tmp_path, busy="queue")
            first = asyncio.create_task(
                events_of(runner(kitchen, service, queueing).run_async(**AT, new_message="eat"))
            )
            await kitchen.begun.wait()
            later = [
                asyncio.create_task(
                    events_of(runner(kitchen, service, queueing, name).run_async(**AT, new_message=name))
                )
                for name in ("two", "three")
            ]
            await asyncio.sleep(0)
            kitchen.go_on.set()
            await asyncio.gather(first, *later)
            session = await service.get_session(**WHERE)
            assert texts(session.events)[:2] == ["eat", "served"]
            assert sorted(texts(session.events)[2:]) == ["three", "three", "two", "two"]
            await service.close()

        asyncio.run(main())

    def test_a_queued_run_does_not_wait_for_ever(self, store: Any, tmp_path: Path) -> None:
        async def main() -> None:
            kitchen, service, queueing = Kitchen(), store(), composed(tmp_path, busy="queue", wait_seconds=0.05)
            first = asyncio.create_task(
                events_of(runner(kitchen, service, queueing).run_async(**AT, new_message="eat"))
            )
            await kitchen.begun.wait()
            with pytest.raises(SessionBusyError):
                await events_of(runner(kitchen, service, queueing, "two").run_async(**AT, new_message="two"))
            kitchen.go_on.set()
            await first
            await service.close()

        asyncio.run(main())

    def test_a_later_run_interrupts(self, store: Any, tmp_path: Path) -> None:
        async def main() -> None:
            kitchen, service, hasty = Kitchen(), store(), composed(tmp_path, busy="interrupt")
            first = asyncio.create_task(events_of(runner(kitchen, service, hasty).run_async(**AT, new_message="eat")))
            await kitchen.begun.wait()
            second = await events_of(runner(kitchen, service, hasty, "stopped").run_async(**AT, new_message="stop"))
            assert texts(second) == ["stopped"]
            assert texts(await first) == []  # it ended, without an error
            assert kitchen.cooked == 0
            session = await service.get_session(**WHERE)
            assert texts(session.events) == ["eat", "stop", "stopped"]
            calls = [c.id for e in session.events for c in e.get_function_calls()]
            assert calls == [r.id for e in session.events for r in e.get_function_responses()]
            await service.close()

        asyncio.run(main())

    @pytest.mark.parametrize("outer", ["queue", "refuse"])
    def test_a_run_within_a_run_of_the_same_session_is_refused_also_in_a_queue(
        self, store: Any, tmp_path: Path, outer: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def waited(claim: Claim, seconds: float) -> bool:
            raise AssertionError("it waits for itself")

        monkeypatch.setattr(Claim, "ended", waited)

        async def main() -> None:
            service, queueing = store(), composed(tmp_path, busy="queue")
            runs: list[Runner] = []

            async def ask_again() -> str:
                """Ask again."""
                try:
                    await events_of(runs[-1].run_async(**AT, new_message="inner"))
                except SessionBusyError:
                    return "busy"
                return "ran"

            agent = Agent(
                name="a", model=ScriptedModel([FunctionCall(name="ask_again", args={}), "end"]), tools=[ask_again]
            )
            for composition in (queueing if outer == "queue" else composed(tmp_path, busy=outer), queueing):
                made = Runner(
                    agent=agent,
                    app_name="house",
                    session_service=service,
                    auto_create_session=True,
                    composition=composition,
                )
                runs.append(made)
            events = await events_of(runs[0].run_async(**AT, new_message="outer"))
            assert [r.response for e in events for r in e.get_function_responses()] == [{"result": "busy"}]
            await service.close()

        asyncio.run(main())

    def test_events_left_behind_free_the_session(self, store: Any) -> None:
        async def main() -> None:
            kitchen, service = Kitchen(), store()
            async for _ in runner(kitchen, service).run_async(**AT, new_message="eat"):
                break
            assert texts(await events_of(runner(kitchen, service, None, "next").run_async(**AT, new_message="go"))) == [
                "next"
            ]
            await service.close()

        asyncio.run(main())

    @pytest.mark.parametrize("fails", ["open", "run"])
    def test_a_run_that_fails_frees_the_session(self, store: Any, fails: str) -> None:
        async def main() -> None:
            service = store()
            agent = Agent(name="a", model=ScriptedModel([RuntimeError("no"), RuntimeError("no")]))
            run = Runner(
                agent=agent,
                app_name="house",
                session_service=service,
                auto_create_session=fails == "run",
                distribution="adk",
            )
            for _ in range(2):
                with pytest.raises((RuntimeError, ValueError)) as caught:
                    await events_of(run.run_async(**AT, new_message="go"))
                assert not isinstance(caught.value, SessionBusyError)
            await service.close()

        asyncio.run(main())

    def test_appending_from_outside_goes_on_and_ends_nothing(self, store: Any) -> None:
        async def main() -> None:
            kitchen, service = Kitchen(), store()
            first = asyncio.create_task(events_of(runner(kitchen, service).run_async(**AT, new_message="eat")))
            await kitchen.begun.wait()
            copy = await service.get_session(**WHERE)
            await service.append_event(copy, Event(author="user", actions=EventActions(state_delta={"salt": 1})))
            kitchen.go_on.set()
            assert texts(await first) == ["served"]
            session = await service.get_session(**WHERE)
            assert session.state["salt"] == 1
            assert kitchen.cooked == 1
            await service.close()

        asyncio.run(main())

    def test_without_the_plugin_nothing_is_claimed(self, store: Any, tmp_path: Path) -> None:
        file = tmp_path / "free.yaml"
        file.write_text("name: free\nextends: standard\ndisable: [claims]\n", encoding="utf-8")

        async def main() -> None:
            kitchen, service, free = Kitchen(), store(), compose(file)
            first = asyncio.create_task(events_of(runner(kitchen, service, free).run_async(**AT, new_message="eat")))
            await kitchen.begun.wait()
            second = await events_of(runner(kitchen, service, free, "me too").run_async(**AT, new_message="eat"))
            assert texts(second) == ["me too"]
            kitchen.go_on.set()
            await asyncio.gather(first, return_exceptions=True)
            await service.close()

        asyncio.run(main())

    def test_a_store_is_known_by_its_identity(self) -> None:
        class Unhashable(InMemorySessionService):
            __hash__ = None  # type: ignore[assignment]

        async def main() -> None:
            kitchen, service = Kitchen(), Unhashable()
            first = asyncio.create_task(events_of(runner(kitchen, service).run_async(**AT, new_message="eat")))
            await kitchen.begun.wait()
            with pytest.raises(SessionBusyError):
                await events_of(runner(kitchen, service, None, "me too").run_async(**AT, new_message="eat"))
            kitchen.go_on.set()
            assert texts(await first) == ["served"]

        asyncio.run(main())

    def test_a_blank_id_is_refused(self, store: Any) -> None:
        async def main() -> None:
            service = store()
            run = runner(Kitchen(), service, None, "hi").run_async(user_id="u", session_id=" ", new_message="hi")
            with pytest.raises(ConfigurationError, match="the session id is blank"):
                await events_of(run)
            await service.close()

        asyncio.run(main())


HOLD = """
import asyncio, sys
from contextlib import aclosing
from newel import Agent, Runner
from newel.sessions import SqliteSessionService
from newel.testing import ScriptedModel
from newel_types import FunctionCall

async def wait() -> str:
    '''Wait for a line.'''
    print("waiting", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    return "done"

async def main():
    agent = Agent(name="a", model=ScriptedModel([FunctionCall(name="wait", args={}), "served"]), tools=[wait])
    async with SqliteSessionService(sys.argv[1]) as store:
        made = {"app_name": "house", "session_service": store, "auto_create_session": True, "distribution": "adk"}
        runner = Runner(agent=agent, **made)
        async with aclosing(runner.run_async(user_id="u", session_id="s", new_message="eat")) as events:
            async for event in events:
                pass
    print("ended", flush=True)

asyncio.run(main())
"""


@pytest.fixture
def elsewhere(tmp_path: Path) -> Any:
    """Another process that runs the session, in a tool that waits for a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "s.db")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    yield process
    process.kill()
    process.communicate()


class TestAcrossProcesses:
    @pytest.mark.parametrize("busy", ["refuse", "interrupt"])  # a run of another process cannot be ended
    def test_a_second_run_is_refused_until_the_first_is_over(self, elsewhere: Any, busy: str, tmp_path: Path) -> None:
        async def main() -> None:
            async with SqliteSessionService(tmp_path / "s.db") as service:
                run = runner(Kitchen(), service, composed(tmp_path, busy=busy), "now")
                with pytest.raises(SessionBusyError, match="in another process"):
                    await events_of(run.run_async(**AT, new_message="eat"))
                elsewhere.stdin.write("\n")
                elsewhere.stdin.flush()
                assert await asyncio.to_thread(elsewhere.stdout.readline) == "ended\n"
                assert texts(await events_of(run.run_async(**AT, new_message="more"))) == ["now"]
                session = await service.get_session(**WHERE)
                assert session is not None
                assert texts(session.events) == ["eat", "served", "more", "now"]

        asyncio.run(main())

    def test_a_queued_run_follows(self, elsewhere: Any, tmp_path: Path) -> None:
        async def main() -> None:
            async with SqliteSessionService(tmp_path / "s.db") as service:
                run = runner(Kitchen(), service, composed(tmp_path, busy="queue"), "now")
                second = asyncio.create_task(events_of(run.run_async(**AT, new_message="more")))
                await asyncio.sleep(0)
                elsewhere.stdin.write("\n")
                elsewhere.stdin.flush()
                assert texts(await second) == ["now"]
                session = await service.get_session(**WHERE)
                assert session is not None
                assert texts(session.events) == ["eat", "served", "more", "now"]

        asyncio.run(main())

    def test_a_process_that_was_killed_holds_nothing(self, elsewhere: Any, tmp_path: Path) -> None:
        elsewhere.kill()
        elsewhere.wait()

        async def main() -> None:
            async with SqliteSessionService(tmp_path / "s.db") as service:
                run = runner(Kitchen(), service, None, "now").run_async(**AT, new_message="more")
                assert texts(await events_of(run)) == ["now"]

        asyncio.run(main())

    def test_an_answer_from_outside_does_not_end_the_run(self, elsewhere: Any, tmp_path: Path) -> None:
        async def main() -> None:
            async with SqliteSessionService(tmp_path / "s.db") as service:
                event = Event(author="user", content=Content(parts=[Part(text="by the way")]))
                await service.append_out_of_band(**WHERE, event=event)
                copy = await service.get_session(**WHERE)
                assert copy is not None
                await service.append_event(copy, Event(author="user", actions=EventActions(state_delta={"salt": 1})))
                elsewhere.stdin.write("\n")
                elsewhere.stdin.flush()
                assert await asyncio.to_thread(elsewhere.stdout.readline) == "ended\n"
                session = await service.get_session(**WHERE)
                assert session is not None
                assert texts(session.events) == ["eat", "by the way", "served"]
                assert session.state["salt"] == 1

        asyncio.run(main())


class TestLeases:
    def test_a_lease_runs_out_and_its_late_holder_is_fenced(self, tmp_path: Path) -> None:
        async def main() -> None:
            async with SqliteSessionService(tmp_path / "s.db") as one, SqliteSessionService(tmp_path / "s.db") as two:
                await one.create_session(**WHERE)
                late = await one.claim(**WHERE, owner="one", ttl=60)
                assert late is not None
                assert await two.claim(**WHERE, owner="two", ttl=60) is None
                await one.renew(late, ttl=-1)  # it is over by now
                now = await two.claim(**WHERE, owner="two", ttl=60)
                assert now is not None
                with pytest.raises(FencedError):
                    await one.append_event(late, Event(author="a", content=Content(parts=[Part(text="late")])))
                with pytest.raises(FencedError):
                    await one.renew(late, ttl=60)
                await two.append_event(now, Event(author="a", content=Content(parts=[Part(text="now")])))
                await two.release(now)
                assert await one.claim(**WHERE, owner="one", ttl=60) is not None
                assert texts(await two.tail(**WHERE, after=0)) == ["now"]

        asyncio.run(main())


class TestResults:
    def test_the_result_of_a_tool_is_stored_behind_what_came_in(self, tmp_path: Path) -> None:
        """Nothing is claimed, so that another process begins a run while the tool works, and answers its call."""
        file = tmp_path / "free.yaml"
        file.write_text("name: free\nextends: standard\ndisable: [claims]\n", encoding="utf-8")
        path = tmp_path / "s.db"

        async def main() -> None:
            kitchen, free = Kitchen(), compose(file)
            async with SqliteSessionService(path) as one, SqliteSessionService(path) as two:
                first = asyncio.create_task(events_of(runner(kitchen, one, free).run_async(**AT, new_message="eat")))
                await kitchen.begun.wait()
                await events_of(runner(kitchen, two, free, "hello").run_async(**AT, new_message="hi"))
                kitchen.go_on.set()
                with pytest.raises(StaleSessionError):
                    await first
                session = await two.get_session(**WHERE)
                assert session is not None
                results = [r.response for e in session.events for r in e.get_function_responses()]
                assert len(results) == 2  # what stood in for it, and the tool's own
                assert results[1] == {"result": "done"}
                model = ScriptedModel(["bye"])
                last = Runner(
                    agent=Agent(name="cook", model=model, tools=[kitchen.cook]),
                    app_name="house",
                    session_service=two,
                    composition=free,
                )
                await events_of(last.run_async(**AT, new_message="and now"))
                told = [
                    p.function_response
                    for c in model.requests[0].contents
                    for p in c.parts or ()
                    if p.function_response
                ]
                assert [response.response for response in told] == [{"result": "done"}]

        asyncio.run(main())


class Overtaken(InMemorySessionService):
    """A store that another process makes the session in, right after a run has looked for it."""

    looked = 0

    async def open(self, **where: Any) -> Any:
        self.looked += 1
        if self.looked == 1:
            await InMemorySessionService.create_session(self, **WHERE, state={"by": "another"})
            return None
        return await super().open(**where)


def test_a_session_that_another_process_makes_in_between_is_taken_as_it_is() -> None:
    async def run() -> dict[str, Any]:
        store = Overtaken()
        async with Runner(
            agent=Agent(name="a", model=ScriptedModel(["hello"])),
            app_name="house",
            session_service=store,
            auto_create_session=True,
        ) as runner:
            events = [event async for event in runner.run_async(**AT, new_message="hi")]
        assert [event.author for event in events] == ["a"]
        session = await store.get_session(**WHERE)
        assert session is not None
        return dict(session.state)

    assert asyncio.run(run()) == {"by": "another"}
