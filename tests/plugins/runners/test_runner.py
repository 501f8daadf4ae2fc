"""What the public Runner adds: run, run_debug, the user's event, blobs as artifacts, and what is below it."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from newel.agents import LlmAgent
from newel.agents.run_config import RunConfig
from newel.runners import InMemoryRunner
from newel_kernel import Epilogue, Event, GetSessionConfig, Prologue, Session, hookimpl
from newel_types import Blob, Content, Part


def run(one: Any, message: str = "hello") -> Any:
    return one.runner.run(user_id="ada", session_id="s1", new_message=message)


def texts(events: Any) -> list[str]:
    return [event.content.parts[0].text for event in events]


def test_run_needs_no_loop(talk: Any) -> None:
    one = talk(["one", "two"])
    assert texts(run(one)) == ["one"]
    assert texts(run(one, "again")) == ["two"]


def test_run_goes_on_only_when_it_is_asked(talk: Any) -> None:
    async def quick() -> str:
        """Be quick."""
        return "x"

    one = talk([{"call": "quick"}, "done"], [quick])
    events = run(one)
    next(events)
    assert len(one.model.requests) == 1
    assert len(list(events)) == 2


def test_closing_run_stops_what_runs_and_waits(talk: Any, told: Any) -> None:
    log: list[str] = []

    async def wait() -> str:
        """Wait for a long time."""
        log.append("started")
        try:
            await asyncio.sleep(30)
        finally:
            log.append("stopped")
        return "done"

    one = talk([{"call": "wait"}], [wait])
    events = run(one)
    next(events)
    threading.Timer(0.05, lambda: log.append("late")).start()
    before = threading.active_count()
    events.close()
    assert "started" not in log or "stopped" in log
    assert threading.active_count() < before
    assert "error" in told(asyncio.run(one.stored()))[-1]


def test_run_raises_what_the_run_raises(talk: Any) -> None:
    one = talk([ValueError("no")], distribution="adk")
    with pytest.raises(ValueError, match="no"):
        list(run(one))


def test_run_debug_prints_the_conversation(capsys: pytest.CaptureFixture[str], talk: Any) -> None:
    def add(a: int) -> int:
        """Add."""
        return a + 1

    async def main() -> None:
        one = talk([{"call": "add", "args": {"a": 1}}, "two", "bye"], [add])
        events = await one.runner.run_debug(["one?", "thanks"], verbose=True)
        assert len(events) == 4
        assert len(await talk(["x"]).runner.run_debug("quiet", quiet=True)) == 1

    asyncio.run(main())
    assert capsys.readouterr().out.splitlines() == [
        "user > one?",
        "clerk > [calls add({'a': 1})]",
        "clerk > [result of add: {'result': 2}]",
        "clerk > two",
        "user > thanks",
        "clerk > bye",
    ]


def test_the_users_event_is_yielded_where_asked(talk: Any) -> None:
    async def main() -> None:
        one = talk(["hi"])
        events = await one.send(yield_user_message=True)
        assert [event.author for event in events] == ["user", "clerk"]
        assert [event.id for event in events] == [event.id for event in (await one.stored()).events]

    asyncio.run(main())


def test_blobs_of_the_message_become_artifacts(talk: Any) -> None:
    async def main() -> None:
        one = talk(["seen"])
        blob = Part(inline_data=Blob(mime_type="image/png", data=b"png"))
        message = Content(role="user", parts=[Part(text="look"), blob])
        await one.send(message, run_config=RunConfig(save_input_blobs_as_artifacts=True))
        said = (await one.stored()).events[0]
        name = f"artifact_{said.invocation_id}_1"
        assert said.content.parts[0].text == "look"
        assert name in said.content.parts[1].text
        where = {"app_name": "desk", "user_id": "ada", "session_id": "s1"}
        saved = await one.runner.artifact_service.load_artifact(**where, filename=name)
        assert saved.inline_data.data == b"png"
        assert message.parts[1].inline_data is not None

    asyncio.run(main())


def test_only_the_events_asked_for_are_loaded(talk: Any) -> None:
    async def main() -> None:
        one = talk(["one", "two", "three"])
        await one.send()
        await one.send("again")
        config = RunConfig(get_session_config=GetSessionConfig(num_recent_events=1))
        await one.send("once more", run_config=config)
        said = [content.parts[0].text for content in one.model.requests[-1].contents]
        assert said == ["two", "once more"]
        assert len((await one.stored()).events) == 6

    asyncio.run(main())


def test_metadata_is_set_on_every_event(talk: Any) -> None:
    async def main() -> None:
        events = await talk(["hi"]).send(run_config=RunConfig(custom_metadata={"trace": "t"}))
        assert [event.custom_metadata for event in events] == [{"trace": "t"}]

    asyncio.run(main())


class Around:
    """Prologue and epilogue that write an event each."""

    name = "around"

    def __init__(self) -> None:
        self.errors: list[str] = []

    @hookimpl
    def register_prologues(self) -> list[Prologue]:
        async def before(ctx: Any) -> list[Event]:
            return [Event(author="clerk", invocation_id="before", message="before")]

        return [Prologue(name="around", run=before)]

    @hookimpl
    def register_epilogues(self) -> list[Epilogue]:
        async def after(ctx: Any, error: BaseException | None) -> list[Event]:
            self.errors.append(type(error).__name__)
            return [Event(author="clerk", invocation_id=ctx.invocation_id, message="after")]

        return [Epilogue(name="around", run=after)]


def test_what_runs_around_an_invocation_is_stored_and_not_yielded(talk: Any, told: Any) -> None:
    async def main() -> None:
        around = Around()
        one = talk(["hi", ValueError("no"), "unheard"], plugins=[around], distribution="adk")
        assert len(await one.send()) == 1
        with pytest.raises(ValueError, match="no"):
            await one.send("again")
        events = one.start("and again")
        await anext(events)
        await events.aclose()
        session: Session = await one.stored()
        assert told(session) == [
            "before",
            "hello",
            "hi",
            "after",
            "before",
            "again",
            "after",
            "before",
            "and again",
            "unheard",
            "after",
        ]
        assert around.errors == ["NoneType", "ValueError", "GeneratorExit"]

    asyncio.run(main())


def test_an_epilogue_that_fails_does_not_hide_the_error(talk: Any) -> None:
    class Broken:
        name = "broken"

        @hookimpl
        def register_epilogues(self) -> list[Epilogue]:
            async def fail(ctx: Any, error: BaseException | None) -> None:
                raise RuntimeError("epilogue")

            return [Epilogue(name="broken", run=fail)]

    async def main() -> None:
        one = talk(["fine", ValueError("no")], plugins=[Broken()], distribution="adk")
        with pytest.raises(RuntimeError, match="epilogue"):
            await one.send()
        with pytest.raises(ValueError, match="no") as caught:
            await one.send()
        assert caught.value.__notes__ == ["the epilogue 'broken' failed too: RuntimeError: epilogue"]

    asyncio.run(main())


def test_the_runner_in_memory_has_all_stores(talk: Any) -> None:
    runner = InMemoryRunner(talk(["x"]).agent)
    assert runner.artifact_service is not None
    assert runner.memory_service is not None


def test_a_session_is_deleted_with_its_artifacts() -> None:
    async def main() -> None:
        runner = InMemoryRunner(LlmAgent(name="quiet", model="echo:"), app_name="desk")
        for session in ("one", "two"):
            where = {"app_name": "desk", "user_id": "ada", "session_id": session}
            await runner.session_service.create_session(**where)
            for name in ("x", "user:y"):
                assert runner.artifact_service is not None
                await runner.artifact_service.save_artifact(**where, filename=name, artifact=Part(text="x"))
        await runner.delete_session(user_id="ada", session_id="one")
        listed = await runner.session_service.list_sessions(app_name="desk", user_id="ada")
        assert [session.id for session in listed.sessions] == ["two"]
        names = runner.artifact_service.list_artifact_keys
        assert await names(app_name="desk", user_id="ada", session_id="one") == ["user:y"]
        assert await names(app_name="desk", user_id="ada", session_id="two") == ["user:y", "x"]

    asyncio.run(main())
