"""An invocation that a rewind took back, whole or in part."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from newel.agents import LlmAgent, SequentialAgent
from newel.apps import App, ResumabilityConfig
from newel.events import RequestInput
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel.testing import ScriptedModel
from newel.tools import FunctionTool
from newel.workflow import Workflow
from newel_kernel import BaseAgent, ConfigurationError, Event
from newel_types import FunctionCall, FunctionResponse, Part

WHERE = {"user_id": "ada", "session_id": "s"}


class Talk:
    def __init__(self, root: BaseAgent) -> None:
        app = App(name="app", root_agent=root, resumability_config=ResumabilityConfig(is_resumable=True))
        self.store = InMemorySessionService()
        self.runner = Runner(app=app, session_service=self.store, auto_create_session=True)

    def send(self, message: Any = None, invocation_id: str | None = None) -> list[Event]:
        async def main() -> list[Event]:
            run = self.runner.run_async(**WHERE, new_message=message, invocation_id=invocation_id)
            return [event async for event in run]

        return asyncio.run(main())

    def rewind(self, invocation_id: str) -> None:
        asyncio.run(self.runner.rewind_async(**WHERE, rewind_before_invocation_id=invocation_id))

    @property
    def events(self) -> list[Event]:
        session = asyncio.run(self.store.get_session(app_name="app", **WHERE))
        assert session is not None
        return session.events


def payer(paid: list[int], **tool: Any) -> LlmAgent:
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    steps = [FunctionCall(name="pay", args={"amount": 5}), "done", "more", "still more"]
    return LlmAgent(name="clerk", model=ScriptedModel(steps), tools=[FunctionTool(pay, effect="at_most_once", **tool)])


@pytest.mark.parametrize("message", [None, "go on"])
@pytest.mark.parametrize("in_sequence", [True, False])
def test_it_cannot_be_resumed(message: str | None, in_sequence: bool) -> None:
    paid: list[int] = []
    root: BaseAgent = payer(paid)
    talk = Talk(SequentialAgent(name="all", sub_agents=[root]) if in_sequence else root)
    invocation_id = talk.send("pay")[0].invocation_id
    talk.rewind(invocation_id)
    stored = talk.events
    with pytest.raises(ConfigurationError, match=f"{invocation_id}.*taken back by a rewind.*send a new message"):
        talk.send(message, invocation_id)
    assert paid == [5]
    assert talk.events == stored
    assert talk.send("hello")[0].invocation_id != invocation_id


def test_a_later_rewind_takes_back_what_came_before_it_as_well() -> None:
    talk = Talk(LlmAgent(name="clerk", model=ScriptedModel(["one", "two", "three"])))
    first, second = (talk.send(text)[0].invocation_id for text in ("a", "b"))
    talk.rewind(first)
    for invocation_id in (first, second):
        with pytest.raises(ConfigurationError, match="taken back by a rewind"):
            talk.send(None, invocation_id)


def test_an_earlier_invocation_goes_on_from_where_the_rewind_left_it() -> None:
    paid: list[int] = []
    talk = Talk(payer(paid, require_confirmation=True))
    events = talk.send("pay")
    request = next(c for e in events for c in e.get_function_calls() if e.long_running_tool_ids)
    between = talk.send("how is the weather?")[0].invocation_id
    answer = Part(function_response=FunctionResponse(id=request.id, name=request.name, response={"confirmed": True}))
    talk.send(answer)
    talk.rewind(between)
    assert talk.send(None, events[0].invocation_id) == [], "it waits for its answer again"
    assert paid == [5]
    assert not any(event.error_code for event in talk.send(answer))
    assert paid == [5, 5]


def test_a_graph_forgets_the_answer_that_was_taken_back() -> None:
    ran: list[Any] = []

    def ask(node_input: Any) -> Any:
        yield RequestInput(interrupt_id="q", message="Go on?")

    def order(node_input: Any) -> str:
        ran.append(node_input)
        return "ordered"

    talk = Talk(Workflow(name="wf", edges=[("START", ask, order)]))
    invocation_id = talk.send("go")[0].invocation_id
    between = talk.send("something else")[0].invocation_id
    talk.send(_input("yes"), invocation_id)
    talk.rewind(between)
    talk.send(_input("no"), invocation_id)
    assert ran == ["yes", "no"]


def _input(text: str) -> Part:
    return Part(function_response=FunctionResponse(id="q", name="adk_request_input", response={"result": text}))
