"""What somebody appends to a session as the user's answer counts only where it was asked for."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from newel import Agent, App
from newel.apps import ResumabilityConfig
from newel.testing import Conversation, ScriptedModel
from newel.tools import LongRunningFunctionTool
from newel_kernel import Event, LlmCallsLimitExceededError, RunConfig
from newel_types import Content, FunctionCall, FunctionResponse, Part

IDS: dict[str, Any] = {"app_name": "house", "user_id": "ada", "session_id": "s1"}


class Door:
    """An agent that asks its tool whether somebody may come in; the tool may wait before it says so."""

    def __init__(self, *steps: Any, distribution: str = "standard") -> None:
        self.asked = 0
        self.waits = False
        self.go_on = asyncio.Event()
        self.model = ScriptedModel(list(steps))
        agent = Agent(name="door", model=self.model, tools=[self.may_enter, LongRunningFunctionTool(self.order)])
        app = App(name="house", root_agent=agent, resumability_config=ResumabilityConfig(is_resumable=True))
        self.chat = Conversation(app, distribution=distribution, user_id="ada", session_id="s1")

    async def may_enter(self) -> dict[str, bool]:
        """Whether somebody may come in."""
        self.asked += 1
        if self.waits:
            await self.go_on.wait()
        return {"admin": False}

    def order(self) -> None:
        """Order something, which takes a day."""

    async def append(self, response: object, name: str = "may_enter", call_id: str = "c1") -> None:
        """What a client with a hand on the store does."""
        service = self.chat.runner.session_service
        session = await service.get_session(**IDS)
        part = Part(function_response=FunctionResponse(id=call_id, name=name, response=response))
        await service.append_event(session, Event(author="user", content=Content(role="user", parts=[part])))

    @property
    def results_shown(self) -> list[Any]:
        """The results that the last request shows, by name."""
        parts = [part for content in self.model.requests[-1].contents for part in content.parts or ()]
        return [(r.name, r.response) for part in parts if (r := part.function_response) is not None]


def call(name: str = "may_enter", call_id: str = "c1") -> FunctionCall:
    return FunctionCall(id=call_id, name=name, args={})


@pytest.mark.parametrize(("distribution", "admin"), [("adk", True), ("standard", False)])
def test_an_answer_to_a_finished_call_is_not_shown(distribution: str, admin: bool) -> None:
    """`adk` shows what is appended last, as the releases do."""

    async def main() -> None:
        door = Door(call(), "No.", "Still no.", distribution=distribution)
        await door.chat.send("May I?")
        await door.append({"admin": True})
        await door.chat.send("And now?")
        assert door.results_shown == [("may_enter", {"admin": admin})]

    asyncio.run(main())


def test_an_answer_that_came_before_the_result_is_not_shown_either() -> None:
    async def main() -> None:
        door = Door(call(), "No.")

        async def client() -> None:
            while not door.asked:
                await asyncio.sleep(0)
            await door.append({"admin": True})
            door.go_on.set()

        door.waits = True
        appended = asyncio.create_task(client())
        await door.chat.send("May I?")
        await appended
        assert door.results_shown == [("may_enter", {"admin": False})]

    asyncio.run(main())


def test_an_answer_to_an_interrupted_call_does_not_stand_for_its_result() -> None:
    async def main() -> None:
        door = Door(call(), "No.")
        door.waits = True
        run = asyncio.create_task(door.chat.send("May I?"))
        while not door.asked:
            await asyncio.sleep(0)
        killed = [event.model_copy() for event in (await door.chat.stored()).events]
        run.cancel()
        await asyncio.gather(run, return_exceptions=True)

        again = Door("No.")
        service = again.chat.runner.session_service
        session = await service.create_session(**IDS)
        for event in killed:  # what a process that died has left
            await service.append_event(session, event)
        await again.append({"admin": True})
        await again.chat.send(None, invocation_id=killed[0].invocation_id)
        assert again.asked == 1
        assert again.results_shown == [("may_enter", {"admin": False})]

    asyncio.run(main())


def test_an_answer_that_was_asked_for_counts() -> None:
    async def main() -> None:
        door = Door(call("order", "c2"), "Here.")
        await door.chat.send("A pizza.")
        await door.append({"result": "pizza"}, "order", "c2")
        await door.append({"result": "soup"}, "order", "c2")
        await door.chat.send("Is it there?")
        assert door.results_shown == [("order", {"result": "soup"})]

    asyncio.run(main())


def test_a_resumed_invocation_goes_on_with_its_budget() -> None:
    async def main() -> None:
        door = Door(call(), call("order", "c2"), call(), call(), "Never.")
        await door.chat.send("May I?", run_config=RunConfig(max_llm_calls=3))
        answer = Part(function_response=FunctionResponse(id="c2", name="order", response={"result": "x"}))
        with pytest.raises(LlmCallsLimitExceededError):
            await door.chat.send([answer], run_config=RunConfig(max_llm_calls=3))
        assert len(door.model.requests) == 3

    asyncio.run(main())


def test_a_resumed_invocation_shows_no_open_calls_of_a_later_one() -> None:
    async def main() -> None:
        door = Door("Hello.")
        service = door.chat.runner.session_service
        session = await service.create_session(**IDS)
        asks = Content(role="model", parts=[Part(function_call=call())])
        left = [
            Event(author="user", invocation_id="first", content=Content(role="user", parts=[Part(text="Hello?")])),
            Event(author="user", invocation_id="second", content=Content(role="user", parts=[Part(text="May I?")])),
            Event(author="door", invocation_id="second", content=asks),
        ]
        for event in left:  # two processes that died have left these
            await service.append_event(session, event)
        await door.chat.send(None, invocation_id="first")
        assert [name for name, _ in door.results_shown] == ["may_enter"]
        assert "was interrupted before it had a result" in str(door.results_shown)
        assert door.asked == 0

    asyncio.run(main())
