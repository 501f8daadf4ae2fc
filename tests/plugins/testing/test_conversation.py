"""The harness that `newel.testing` gives to tests of agents and plugins."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from newel.agents import LlmAgent
from newel.apps import App
from newel.models import LlmResponse
from newel.plugins import BasePlugin
from newel.runners import Runner
from newel.sessions import InMemorySessionService, SqliteSessionService
from newel.testing import Conversation, ScriptedModel, Turn
from newel.tools import FunctionTool, LongRunningFunctionTool
from newel.workflow import Workflow
from newel_compose import compose
from newel_kernel import RunConfig, StreamingMode
from newel_types import Content, FunctionCall, Part


def wipe(path: str) -> str:
    """Wipe a path."""
    return f"wiped {path}"


def clerk(*steps: Any, tools: Any = (wipe,), **fields: Any) -> LlmAgent:
    return LlmAgent(name="clerk", model=ScriptedModel(steps), tools=list(tools), **fields)


def call(path: str = "/a") -> FunctionCall:
    return FunctionCall(name="wipe", args={"path": path})


def test_a_turn_has_what_its_events_say() -> None:
    thought = LlmResponse(content=Content(role="model", parts=[Part(text="hm", thought=True), Part(text="done")]))
    chat = Conversation(clerk([Part(text="wait"), Part(function_call=call())], thought, "again"))
    turn = chat.say("go")
    assert len(turn) == 3
    assert (turn.texts, turn.text) == (["wait", "done"], "done")
    assert [(one.name, one.args) for one in turn.calls] == [("wipe", {"path": "/a"})]
    assert turn.results == [{"result": "wiped /a"}]
    assert turn.questions == []
    assert chat.say("on").text == "again"
    assert [one.text for one in chat.turns] == ["done", "again"]
    assert len(chat.requests) == 3
    assert len(chat.session.events) == 6
    assert (Turn().text, Turn().texts) == ("", [])


def test_chunks_count_once() -> None:
    turn = Conversation(clerk(["one ", "two"])).say("go", run_config=RunConfig(streaming_mode=StreamingMode.SSE))
    assert len(turn) == 3
    assert turn.texts == ["one two"]


def test_questions_are_answered_in_their_order_by_another_process(tmp_path: Path) -> None:
    tools = [FunctionTool(wipe, require_confirmation=True)]
    store = SqliteSessionService(tmp_path / "s.db")
    chat = Conversation(clerk([call("/a"), call("/b")], tools=tools), session_service=store)
    first = chat.runner
    assert len(chat.say("go").questions) == 2
    with pytest.raises(ValueError, match="3 answers, but the last turn asks 2 questions"):
        chat.answers({}, {}, {})
    chat.restart(clerk("done", tools=tools))
    assert chat.runner is not first
    turn = chat.say(chat.answers({"confirmed": False}, {"confirmed": True}))
    assert turn.results == [{"error": "This tool call is rejected."}, {"result": "wiped /b"}]
    asyncio.run(store.close())


def test_a_long_running_tool_waits_for_its_result() -> None:
    chat = Conversation(clerk(call(), "it takes a while", "over", tools=[LongRunningFunctionTool(wipe)]))
    assert [one.name for one in chat.say("go").questions] == ["wipe"]
    assert chat.say(chat.answers({"result": "wiped at last"})).text == "over"


@pytest.mark.parametrize("choice", ["standard", "adk", compose("minimal")], ids=["standard", "adk", "composition"])
def test_distributions(choice: Any) -> None:
    chat = Conversation(clerk("hi"), distribution=choice)
    assert chat.runner.composition.distribution.name == (choice if isinstance(choice, str) else "minimal")
    assert chat.say("go").text == "hi"


def test_plugins_and_an_app_and_a_graph_take_part() -> None:
    class Loud(BasePlugin):
        async def on_user_message_callback(self, *, invocation_context: Any, user_message: Content) -> Content:
            return Content(role="user", parts=[Part(text="GO")])

    plain = Conversation(clerk("hi"), plugins=[Loud("loud")])
    app = Conversation(App(name="desk", root_agent=clerk("hi"), plugins=[Loud("loud")]))
    for chat in (plain, app):
        chat.say("go")
        assert chat.requests[0].contents[0].parts[0].text == "GO"
    assert (plain.session.app_name, app.session.app_name) == ("app", "desk")

    graph = Conversation(Workflow(name="wf", edges=[("START", clerk("from a node"))]))
    assert graph.say("go").text == "from a node"
    with pytest.raises(TypeError, match="is not a ScriptedModel"):
        _ = graph.requests


def test_stores_are_replaced_or_the_apps_own() -> None:
    mine, own = InMemorySessionService(), InMemorySessionService()
    assert Conversation(clerk(), session_service=mine).runner.session_service is mine
    assert Conversation(App(name="desk", root_agent=clerk(), session_service=own)).runner.session_service is own
    assert Conversation(clerk()).runner.artifact_service is not None
    assert Conversation(clerk(), artifact_service=None).runner.artifact_service is None


def test_in_a_coroutine_and_step_by_step() -> None:
    async def main() -> None:
        chat = Conversation(clerk(call(), "never"), user_id="ada", session_id="s1", app_name="desk")
        with pytest.raises(LookupError, match="has no session 's1'"):
            await chat.stored()
        events = chat.start("go")
        await anext(events)
        await events.aclose()
        assert chat.turns == []
        assert (await chat.send("on")).text == "never"
        session = await chat.stored()
        assert (session.user_id, session.id) == ("ada", "s1")

    asyncio.run(main())


def test_what_a_run_raises_is_raised_and_its_events_are_kept() -> None:
    chat = Conversation(clerk(call(), OSError("away")))
    with pytest.raises(OSError, match="away"):
        chat.say("go")
    assert chat.turns[0].results == [{"result": "wiped /a"}]
    assert isinstance(chat.runner, Runner)
