"""`Runner.compact_async`: a session is summarised when somebody says so."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from newel import Agent, Runner
from newel.apps import App, EventsCompactionConfig
from newel.apps.base_events_summarizer import BaseEventsSummarizer
from newel.claims import SessionBusyError
from newel.sessions import InMemorySessionService, SqliteSessionService
from newel.testing import ScriptedModel
from newel_kernel import Event, EventActions, EventCompaction, SessionNotFoundError
from newel_types import Content, FunctionCall, Part

WHO: dict[str, Any] = {"user_id": "ann", "session_id": "s"}


def texts(events: list[Event]) -> list[str]:
    return [part.text or "" for event in events if event.content for part in event.content.parts or ()]


async def say(runner: Runner, *messages: str) -> None:
    for message in messages:
        async for _ in runner.run_async(**WHO, new_message=message):
            pass


def runner_of(model: ScriptedModel, store: Any, **agent: Any) -> Runner:
    root = Agent(name="clerk", model=model, **agent)
    return Runner(agent=root, app_name="desk", session_service=store, auto_create_session=True, distribution="standard")


def test_the_model_sees_the_summary_and_the_last_events() -> None:
    async def main() -> None:
        model = ScriptedModel(["one", "two", "THE SUMMARY", "three", "ANOTHER", "four"])
        store = InMemorySessionService()
        runner = runner_of(model, store)
        await say(runner, "first", "second")
        event = await runner.compact_async(**WHO, keep=2)
        assert event is not None
        assert "first" in str(model.requests[-1].contents)
        await say(runner, "third")
        asked = str(model.requests[-1].contents)
        assert "THE SUMMARY" in asked
        assert "second" in asked
        assert "first" not in asked
        assert await runner.compact_async(**WHO, keep=0) is not None
        assert "THE SUMMARY" in str(model.requests[-1].contents)  # the last summary leads to the next one
        await say(runner, "fourth")
        asked = str(model.requests[-1].contents)
        assert "ANOTHER" in asked
        assert "THE SUMMARY" not in asked
        session = await store.get_session(app_name="desk", **WHO)
        assert session is not None
        assert texts(session.events) == ["first", "one", "second", "two", "third", "three", "fourth", "four"]

    asyncio.run(main())


class Short(BaseEventsSummarizer):
    """Says how many events there were."""

    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        content = Content(role="model", parts=[Part(text=f"{len(events)} events")])
        times = {"start_timestamp": events[0].timestamp, "end_timestamp": events[-1].timestamp}
        compaction = EventCompaction(**times, compacted_content=content)
        return Event(author="user", actions=EventActions(compaction=compaction))


def test_the_app_says_what_writes_the_summary() -> None:
    async def main() -> None:
        agent = Agent(name="clerk", model=ScriptedModel(["one"]))
        config = EventsCompactionConfig(summarizer=Short(), token_threshold=10**9, event_retention_size=50)
        app = App(name="desk", root_agent=agent, events_compaction_config=config)
        runner = Runner(app=app, session_service=InMemorySessionService(), auto_create_session=True)
        await say(runner, "first")
        assert await runner.compact_async(**WHO, keep=2) is None
        event = await runner.compact_async(**WHO)
        assert event is not None
        assert event.actions.compaction is not None
        assert texts([Event(author="x", content=event.actions.compaction.compacted_content)]) == ["2 events"]

    asyncio.run(main())


def test_a_session_with_a_run_is_not_compacted_and_no_model_is_asked(tmp_path: Path) -> None:
    async def main() -> None:
        started, release = asyncio.Event(), asyncio.Event()

        async def slow() -> str:
            """Take a while."""
            started.set()
            await release.wait()
            return "done"

        async with SqliteSessionService(tmp_path / "s.db") as store:
            model = ScriptedModel(["one", FunctionCall(name="slow", args={}), "two", "THE SUMMARY"])
            runner = runner_of(model, store, tools=[slow])
            await say(runner, "first")
            run = asyncio.create_task(say(runner, "go"))
            await started.wait()
            async with SqliteSessionService(tmp_path / "s.db") as other:  # as another process has it
                for beside in (runner, runner_of(model, other)):
                    with pytest.raises(SessionBusyError):
                        await beside.compact_async(**WHO)
            assert len(model.requests) == 2
            release.set()
            await run
            assert await runner.compact_async(**WHO) is not None
            await say(runner_of(ScriptedModel(["free again"]), store), "next")
            with pytest.raises(SessionNotFoundError):
                await Runner(
                    agent=Agent(name="clerk", model=model), app_name="desk", session_service=store
                ).compact_async(user_id="ann", session_id="none")

    asyncio.run(main())
