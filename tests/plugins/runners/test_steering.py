"""A message that steers a run: stored at once, told before the next model call, or answered after the run."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncGenerator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field

from newel.agents import LlmAgent
from newel.claims import is_claimed
from newel.models import BaseLlm, LlmRequest, LlmResponse
from newel.runners import Runner
from newel.sessions import BaseSessionService, InMemorySessionService
from newel.sessions.sqlite import SqliteSessionService
from newel_kernel import ConfigurationError, Event, StaleSessionError
from newel_types import Content, FunctionCall, Part

#: How many interleavings are tried.
EXAMPLES = int(os.environ.get("NEWEL_EXAMPLES", "25"))
WHERE = {"user_id": "u", "session_id": "s"}


class Model(BaseLlm):
    """Calls the tool a few times, then answers; it keeps the texts that it was shown."""

    model: str = "m"
    calls: int = 1
    shown: list[list[str]] = Field(default_factory=list)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.shown.append([_said(content) for content in llm_request.contents])
        await asyncio.sleep(0)
        if len(self.shown) <= self.calls:
            part = Part(function_call=FunctionCall(name="work", args={}))
        else:
            part = Part(text=f"answer {len(self.shown)}")
        yield LlmResponse(content=Content(role="model", parts=[part]))


def _said(content: Content) -> str:
    part = (content.parts or [])[0]
    return part.text or ("call" if part.function_call else "result")


def stores(folder: Path) -> dict[str, BaseSessionService]:
    return {"memory": InMemorySessionService(), "sqlite": SqliteSessionService(str(folder / "s.db"))}


async def _all(events: AsyncGenerator[Event, None]) -> list[Event]:
    return [event async for event in events]


def _texts(events: Any) -> list[str]:
    return [_said(event.content) for event in events if event.content is not None]


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_the_agent_at_work_is_told_before_its_next_model_call(kind: str, tmp_path: Path) -> None:
    async def run() -> None:
        store = stores(tmp_path)[kind]
        model, steered = Model(calls=2), []

        async def work() -> str:
            if len(model.shown) == 1:
                steered.append(asyncio.ensure_future(_all(runner.steer(**WHERE, new_message="by the way"))))
                while "by the way" not in _texts((await store.get_session(app_name="a", **WHERE)).events):
                    await asyncio.sleep(0.001)
            return "done"

        runner = Runner(app_name="a", agent=LlmAgent(name="a", model=model, tools=[work]), session_service=store)
        await store.create_session(app_name="a", **WHERE)
        await _all(runner.run_async(**WHERE, new_message="hello"))
        assert await steered[0] == []
        assert model.shown == [
            ["hello"],
            ["hello", "call", "result", "by the way"],
            ["hello", "call", "result", "by the way", "call", "result"],
        ]
        session = await store.get_session(app_name="a", **WHERE)
        assert session is not None
        assert _texts(session.events) == ["hello", "call", "by the way", "result", "call", "result", "answer 3"]
        await _all(runner.run_async(**WHERE, new_message="and?"))
        assert model.shown[-1] == [*model.shown[2], "answer 3", "and?"]

    asyncio.run(run())


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_message_that_came_too_late_gets_a_run_of_its_own(kind: str, tmp_path: Path) -> None:
    async def run() -> None:
        store = stores(tmp_path)[kind]
        model = Model(calls=0)
        runner = Runner(app_name="a", agent=LlmAgent(name="a", model=model), session_service=store)
        await store.create_session(app_name="a", **WHERE)
        events = runner.run_async(**WHERE, new_message="hello")
        answer = await anext(events)
        late = [asyncio.ensure_future(_all(runner.steer(**WHERE, new_message=text))) for text in ("one", "two")]
        await asyncio.sleep(0.1)
        assert [event async for event in events] == []
        found = [_texts(await one) for one in late]
        assert sorted(found) == [[], ["answer 2"]]
        assert _said(answer.content) == "answer 1"
        assert model.shown[1] == ["hello", "answer 1", "one", "two"]
        assert len(model.shown) == 2

    asyncio.run(run())


def test_a_free_session_gets_an_ordinary_run() -> None:
    async def run() -> None:
        store, model = InMemorySessionService(), Model(calls=0)
        runner = Runner(app_name="a", agent=LlmAgent(name="a", model=model), session_service=store)
        await store.create_session(app_name="a", **WHERE)
        assert _texts(await _all(runner.steer(**WHERE, new_message="hello", yield_user_message=True))) == [
            "hello",
            "answer 1",
        ]

    asyncio.run(run())


class Slow(Model):
    """Takes random times."""

    seed: int = 0

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        shown = [_said(content) for content in llm_request.contents]
        self.shown.append(shown)
        number = len(self.shown)
        dice = random.Random(f"{self.seed} {number}")
        await asyncio.sleep(dice.choice([0, 0, 0.002, 0.01]))
        if dice.random() < 0.5:
            part = Part(function_call=FunctionCall(name="work", args={}))
        else:
            part = Part(text=f"answer {number}")
        yield LlmResponse(content=Content(role="model", parts=[part]))


async def _interleaved(seed: int, stores: list[BaseSessionService]) -> None:
    dice = random.Random(seed)
    model = Slow(seed=seed)

    async def work() -> str:
        await asyncio.sleep(dice.choice([0, 0.001, 0.01]))
        return "done"

    def agent() -> LlmAgent:
        return LlmAgent(name="a", model=model, tools=[work])

    runners = [Runner(app_name="a", agent=agent(), session_service=store) for store in stores]
    await stores[0].create_session(app_name="a", **WHERE)
    begun: dict[str, int] = {}

    async def say(number: int) -> None:
        await asyncio.sleep(dice.random() * 0.05)
        text = f"message {number}"
        events = dice.choice(runners).steer(**WHERE, new_message=text, yield_user_message=True)
        async for event in events:
            if event.author == "user":
                begun[text] = len(model.shown)

    await asyncio.gather(*[say(number) for number in range(dice.randint(2, 5))])
    session = await stores[0].get_session(app_name="a", **WHERE)
    assert session is not None
    said = [text for text in _texts(session.events) if text.startswith("message")]
    assert sorted(said) == sorted(begun)
    for text, calls in begun.items():
        assert all(shown.count(text) == 1 for shown in model.shown[calls + 1 :]), (seed, text, calls, model.shown)
        assert model.shown[-1].count(text) == 1, (seed, text, model.shown)
    for earlier, later in pairwise(model.shown):
        assert later[: len(earlier)] == earlier, (seed, "the beginning of a prompt changed")
    assert session.events[-1].author == "a"


def test_a_message_waits_for_a_run_of_another_process_that_came_and_went_before_it_was_stored(tmp_path: Path) -> None:
    async def run() -> None:
        other = SqliteSessionService(str(tmp_path / "s.db"))
        quicker = Runner(app_name="a", agent=LlmAgent(name="a", model="echo:"), session_service=other)

        class Late(SqliteSessionService):
            waits = True

            async def append_event(self, session: Any, event: Event) -> Event:
                if self.waits:
                    self.waits = False
                    async for _ in quicker.run_async(**WHERE, new_message="first"):
                        pass
                    error = StaleSessionError("another process appended")  # as a store says it
                    error.event = event
                    raise error
                return await super().append_event(session, event)

        late = Late(str(tmp_path / "s.db"))
        runner = Runner(app_name="a", agent=LlmAgent(name="a", model="echo:"), session_service=late)
        await other.create_session(app_name="a", **WHERE)
        async for _ in runner.steer(**WHERE, new_message="second"):
            pass
        session = await other.get_session(app_name="a", **WHERE)
        assert session is not None
        said = [text for text in _texts(session.events) if text in ("first", "second")]
        assert said == ["first", "second"]
        assert session.events[-1].author == "a"
        await late.close()
        await other.close()

    asyncio.run(run())


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_any_interleaving_stores_each_message_once_and_tells_it(kind: str, tmp_path: Path) -> None:
    async def run() -> None:
        for seed in range(EXAMPLES):
            if kind == "memory":
                services: list[Any] = [InMemorySessionService()]
            else:
                services = [SqliteSessionService(str(tmp_path / f"{seed}.db")) for _ in range(2)]
            await asyncio.wait_for(_interleaved(seed, services), 30)
            for service in services[1:] + services[:1] if kind == "sqlite" else ():
                await service.close()

    asyncio.run(run())


def test_what_was_stored_before_its_sender_died_is_told_by_the_next_run(tmp_path: Path) -> None:
    """The run that it was meant for dies, too."""

    async def first() -> None:
        store = SqliteSessionService(str(tmp_path / "s.db"))
        runner = Runner(app_name="a", agent=LlmAgent(name="a", model=Model(calls=0)), session_service=store)
        await store.create_session(app_name="a", **WHERE)
        busy = runner.run_async(**WHERE, new_message="hello")
        await anext(busy)
        sender = asyncio.ensure_future(_all(runner.steer(**WHERE, new_message="by the way")))
        await asyncio.sleep(0.1)
        sender.cancel()
        await asyncio.wait({sender})
        await busy.aclose()
        await store.close()

    async def second() -> None:
        model = Model(calls=0)
        store = SqliteSessionService(str(tmp_path / "s.db"))
        runner = Runner(app_name="a", agent=LlmAgent(name="a", model=model), session_service=store)
        await _all(runner.run_async(**WHERE, new_message="are you there?"))
        await _all(runner.run_async(**WHERE, new_message="and now?"))
        assert model.shown[0] == ["hello", "answer 1", "are you there?", "by the way"]
        assert model.shown[1] == [*model.shown[0], "answer 1", "and now?"]
        await store.close()

    asyncio.run(first())
    asyncio.run(second())


def test_with_busy_steer_a_plain_message_steers(tmp_path: Path) -> None:
    async def run() -> None:
        store, model = InMemorySessionService(), Model(calls=0)
        file = tmp_path / "newel.yaml"
        file.write_text("extends: standard\nsettings: {claims: {busy: steer}}\n")
        agent = LlmAgent(name="a", model=model)
        runner = Runner(app_name="a", agent=agent, session_service=store, distribution=str(file))
        await store.create_session(app_name="a", **WHERE)
        events = runner.run_async(**WHERE, new_message="hello")
        await anext(events)
        late = asyncio.ensure_future(_all(runner.run_async(**WHERE, new_message="one")))
        await asyncio.sleep(0.06)
        await _all(events)
        assert _texts(await late) == ["answer 2"]

    asyncio.run(run())


@pytest.mark.parametrize("mode", ["default", "none"])
def test_an_agent_without_history_is_told_as_well(mode: Any) -> None:
    async def run() -> None:
        store, model, sent = InMemorySessionService(), Model(calls=1), []

        async def work() -> str:
            sent.append(asyncio.ensure_future(_all(runner.steer(**WHERE, new_message="by the way"))))
            await asyncio.sleep(0.02)
            return "done"

        agent = LlmAgent(name="a", model=model, tools=[work], include_contents=mode)
        runner = Runner(app_name="a", agent=agent, session_service=store)
        await store.create_session(app_name="a", **WHERE)
        await _all(runner.run_async(**WHERE, new_message="hello"))
        assert await sent[0] == []
        assert model.shown[1] == ["hello", "call", "result", "by the way"]

    asyncio.run(run())


def test_an_answer_to_a_call_does_not_steer() -> None:
    async def run() -> None:
        store = InMemorySessionService()
        runner = Runner(app_name="a", agent=LlmAgent(name="a", model=Model(calls=0)), session_service=store)
        await store.create_session(app_name="a", **WHERE)
        events = runner.run_async(**WHERE, new_message="hello")
        await anext(events)
        answer = Part.from_function_response(name="work", response={"result": 1})
        with pytest.raises(ConfigurationError, match="does not steer"):
            await _all(runner.steer(**WHERE, new_message=answer))
        await events.aclose()

    asyncio.run(run())


def test_a_tool_that_waits_for_its_own_run_is_refused() -> None:
    async def run() -> None:
        store = InMemorySessionService()

        async def work() -> str:
            with pytest.raises(ConfigurationError, match="waits for itself"):
                await _all(runner.steer(**WHERE, new_message="by the way"))
            return "done"

        agent = LlmAgent(name="a", model=Model(calls=1), tools=[work])
        runner = Runner(app_name="a", agent=agent, session_service=store)
        await store.create_session(app_name="a", **WHERE)
        assert _texts(await _all(runner.run_async(**WHERE, new_message="hello"))) == ["call", "result", "answer 2"]

    asyncio.run(run())


def test_a_run_in_the_background_may_steer() -> None:
    async def run() -> None:
        store, model, sent = InMemorySessionService(), Model(calls=1), []

        async def work() -> str:
            one = runner.start(**WHERE, new_message="by the way", yield_user_message=True, steers=True)
            await one.begun()
            sent.append(one)
            return "done"

        runner = Runner(app_name="a", agent=LlmAgent(name="a", model=model, tools=[work]), session_service=store)
        await store.create_session(app_name="a", **WHERE)
        await _all(runner.run_async(**WHERE, new_message="hello"))
        assert _texts([event async for event in sent[0].events()]) == ["by the way"]
        assert model.shown[1] == ["hello", "call", "result", "by the way"]
        with pytest.raises(ConfigurationError, match="needs a `new_message`"):
            runner.start(**WHERE, invocation_id="i", steers=True)

    asyncio.run(run())


def test_leaving_ends_the_run_at_once() -> None:
    async def run() -> None:
        store = InMemorySessionService()
        runner = Runner(app_name="a", agent=LlmAgent(name="a", model=Model(calls=3)), session_service=store)
        await store.create_session(app_name="a", **WHERE)
        events = runner.steer(**WHERE, new_message="hello")
        await anext(events)
        await events.aclose()
        assert not is_claimed(store, app_name="a", **WHERE)

    asyncio.run(run())
