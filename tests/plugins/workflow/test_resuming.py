"""Resuming graphs: after questions, failures and crashes, in a new process, from every store."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from newel import Agent, Context, Event
from newel.events import RequestInput
from newel.sessions import InMemorySessionService, SqliteSessionService
from newel.testing import Conversation, ScriptedModel
from newel.tools import FunctionTool, LongRunningFunctionTool
from newel.types import Content, FunctionCall, FunctionResponse, Part
from newel.workflow import FunctionNode, JoinNode, Workflow, node


@pytest.fixture(params=["memory", "sqlite"])
def store(request: Any, tmp_path: Path) -> Any:
    return InMemorySessionService() if request.param == "memory" else SqliteSessionService(str(tmp_path / "s.db"))


def ask(node_input: Any) -> Any:
    yield RequestInput(interrupt_id="q", message="go on?")


class Log:
    """Functions that note their runs."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def step(self, name: str, *, fails: list[bool] | None = None, output: Any = "") -> FunctionNode:
        def run(node_input: Any) -> Any:
            self.ran.append(name)
            if fails and fails.pop():
                raise ConnectionError(name)
            return f"{name}({node_input})" if output == "" else output

        return FunctionNode(run, name=name)


def test_an_answer_goes_on_in_a_new_process_and_in_any_app(talk: Any, outputs: Any, store: Any) -> None:
    log = Log()
    flow = Workflow(name="wf", edges=[("START", log.step("a"), log.step("silent", output=None), ask, log.step("b"))])
    question = talk(flow, store).say("go")[-1]
    events = talk(flow, store).answer(q="yes")
    assert (log.ran, outputs(events)) == (["a", "silent", "b"], ["b(yes)"])
    assert {e.invocation_id for e in events} == {question.invocation_id}


def test_nothing_runs_again_when_an_answer_comes_twice(talk: Any, store: Any) -> None:
    log = Log()
    flow = Workflow(name="wf", edges=[("START", ask, log.step("b"))])
    chat = talk(flow, store)
    chat.say("go")
    chat.answer(q="yes")
    assert [event.error_code for event in chat.answer(q="no")] == ["ANSWERED_BEFORE"]
    assert log.ran == ["b"]


def test_a_checkpoint_is_compact_and_rides_on_events(talk: Any) -> None:
    log = Log()
    flow = Workflow(name="wf", edges=[("START", log.step("a"), log.step("silent", output=None), log.step("b"), ask)])
    events = talk(flow).say("go")
    assert len(events) == 3
    nodes: dict[str, Any] = {}
    for event in events:
        nodes |= json.loads(event.model_dump_json(exclude_none=True))["node_info"].get("nodes", {})
    assert nodes == {f"wf@1/{name}@1": {"status": 3} for name in ("a", "silent", "b")}


def test_a_failed_invocation_resumes_where_it_failed(talk: Any, outputs: Any, store: Any) -> None:
    log = Log()
    steps = [log.step("a"), log.step("silent", output=None), log.step("b", fails=[True]), log.step("c")]
    flow = Workflow(name="wf", edges=[("START", *steps)])
    chat = talk(flow, store, resumable=True)
    with pytest.raises(ConnectionError):
        chat.say("go")
    invocation = chat.stored()[-1].invocation_id
    events = talk(flow, store, resumable=True).say(invocation_id=invocation)
    assert (log.ran, outputs(events)) == (["a", "silent", "b", "b", "c"], ["b(None)", "c(b(None))"])
    assert talk(flow, store, resumable=True).say(invocation_id=invocation) == []


@pytest.mark.parametrize("length", range(1, 9))
def test_a_run_cut_short_after_any_event_ends_as_it_would_have(talk: Any, store: Any, length: int) -> None:
    """As after ``kill -9``: what was committed stays, the process is gone."""
    ran: list[str] = []

    def step(name: str) -> FunctionNode:
        async def run(ctx: Context, node_input: Any) -> Any:
            await asyncio.sleep(0)
            ran.append(name)
            ctx.route = name  # type: ignore[attr-defined]
            return f"{name}"

        return FunctionNode(run, name=name)

    def tail(node_input: Any) -> Any:
        return sorted(node_input.values())

    a, b, x, y = map(step, "abxy")
    join = JoinNode(name="join")
    flow = Workflow(name="wf", edges=[("START", (a, b)), (a, {"a": x}), (b, {"b": y}), ((x, y), join, tail)])
    runner = talk(flow, store, resumable=True).runner

    async def cut() -> str:
        events = runner.run_async(user_id="u", session_id="s", new_message="go")
        for _ in range(length):
            event = await anext(events)
        await events.aclose()
        return event.invocation_id

    invocation = asyncio.run(cut())
    committed = [e.output for e in talk(flow, store).stored() if isinstance(e.output, str)]
    chat = talk(flow, store, resumable=True)
    ran.clear()
    chat.say(invocation_id=invocation)
    assert chat.stored()[-1].output == ["x", "y"]
    assert not set(ran) & {name for name in committed if name in "xy"}


def test_runs_keep_their_names_whatever_the_order_in_which_they_ended(talk: Any, outputs: Any, store: Any) -> None:
    slow_first = [True]
    ran: list[Any] = []

    async def slow(node_input: Any) -> str:
        for _ in range(5 if slow_first[0] else 0):
            await asyncio.sleep(0)
        return "slow"

    async def fast(node_input: Any) -> str:
        return "fast"

    def after(ctx: Any, node_input: str) -> None:
        ran.append((ctx.run_id, node_input))
        ctx.state[f"after_{ctx.run_id}"] = node_input

    def gate(node_input: Any) -> Any:
        yield RequestInput(interrupt_id="q", message="?")

    def last(ctx: Any, node_input: Any) -> list[Any]:
        return [ctx.state["after_1"], ctx.state["after_2"], node_input]

    flow = Workflow(name="wf", edges=[("START", (slow, fast), after), ("START", gate, last)])
    talk(flow, store).say("go")
    slow_first[0] = False
    assert outputs(talk(flow, store).answer(q="yes")) == [["fast", "slow", "yes"]]
    assert ran == [("1", "fast"), ("2", "slow")]


def test_partial_answers_wait_for_the_rest(talk: Any, outputs: Any, store: Any) -> None:
    def question(name: str) -> FunctionNode:
        def run(node_input: Any) -> Any:
            yield RequestInput(interrupt_id=name, message="?")

        return FunctionNode(run, name=name)

    flow = Workflow(name="wf", edges=[("START", (question("p"), question("q")), JoinNode(name="join"))])
    talk(flow, store).say("go")
    assert talk(flow, store).answer(q="Q") == []
    assert outputs(talk(flow, store).answer(p="P")) == [{"p": "P", "q": "Q"}]


def test_a_node_runs_again_with_its_answers_and_its_children_do_not(talk: Any, store: Any) -> None:
    log = Log()

    @node(rerun_on_resume=True)
    async def driver(ctx: Any) -> list[Any]:
        log.ran.append("driver")
        first = await ctx.run_node(log.step("a"), 1)
        size = ctx.interrupt("which size?", interrupt_id="size")
        answer = await ctx.run_node(ask)
        return [first, size, answer, await ctx.run_node(log.step("b"), 2)]

    flow = Workflow(name="wf", edges=[("START", driver)])
    talk(flow, store).say("go")
    talk(flow, store).answer(size="XL")
    assert talk(flow, store).answer(q="yes")[-1].output == ["a(1)", "XL", "yes", "b(2)"]
    assert log.ran == ["driver", "a", "driver", "driver", "b"]


@pytest.mark.parametrize("waits", [False, True])
def test_a_function_that_asks_has_the_answer_as_its_output(talk: Any, outputs: Any, store: Any, waits: bool) -> None:
    def ask_at_once(ctx: Context) -> Any:
        return ctx.interrupt("which size?", interrupt_id="size")

    async def ask_while_waiting(ctx: Context) -> Any:
        return ask_at_once(ctx)

    log = Log()
    asks = FunctionNode(ask_while_waiting if waits else ask_at_once, name="asks")
    flow = Workflow(name="wf", edges=[("START", asks, log.step("b"))])
    question = talk(flow, store).say("go")[0]
    assert (question.node_info.path, question.long_running_tool_ids) == ("wf@1/asks@1", {"size"})
    assert outputs(talk(flow, store).answer(size="38")) == ["b(38)"]


def test_workers_that_were_done_are_not_run_again(talk: Any, store: Any) -> None:
    ran: list[int] = []

    @node(parallel_worker=True)
    def work(node_input: int) -> Any:
        ran.append(node_input)
        if node_input == 2:
            yield RequestInput(interrupt_id="q", message="?")
        else:
            yield node_input * 10

    def items() -> list[int]:
        return [1, 2, 3]

    flow = Workflow(name="wf", edges=[("START", items, work)])
    talk(flow, store).say("go")
    assert talk(flow, store).answer(q="20")[-1].output == [10, 20, 30]
    assert ran == [1, 2, 3]


def test_an_agents_answer_is_known_again(talk: Any, outputs: Any, store: Any) -> None:
    model = ScriptedModel(["a poem"])
    log = Log()
    inner = Workflow(name="inner", edges=[("START", Agent(name="poet", model=model))])
    flow = Workflow(name="wf", edges=[("START", inner, (ask, log.step("b", fails=[True])), JoinNode(name="join"))])
    with pytest.raises(ConnectionError):
        talk(flow, store).say("sea")
    assert outputs(talk(flow, store).answer(q="yes")) == ["b(a poem)", {"ask": "yes", "b": "b(a poem)"}]


@pytest.mark.parametrize(
    ("schema", "answer", "output"),
    [
        (int, "7", 7),
        (list[str], ["a"], ["a"]),
        ({"type": "object", "properties": {"n": {"type": "integer", "default": 3}}}, {"m": 1}, {"m": 1, "n": 3}),
        (bool, "true", True),
        (str, "7", "7"),
        (int | None, None, None),
        (int, "many", "not of type integer"),
        ({"type": "object", "properties": {"n": {}}, "required": ["n"]}, {}, "has no 'n'"),
        ({"enum": ["a", "b"]}, "c", "not one of"),
    ],
)
def test_an_answer_must_fit(talk: Any, schema: Any, answer: Any, output: Any) -> None:
    def question(node_input: Any) -> Any:
        return RequestInput(interrupt_id="q", message="?", response_schema=schema)

    def tell(node_input: Any) -> list[Any]:
        return [node_input]

    chat = talk(Workflow(name="wf", edges=[("START", question, tell)]))
    chat.say("go")
    if isinstance(output, str) and " " in output:
        with pytest.raises(ValueError, match=output):
            chat.answer(q=answer)
    else:
        assert chat.answer(q=answer)[-1].output == [output]


def test_an_answer_that_did_not_fit_can_be_given_again(talk: Any, outputs: Any) -> None:
    def question(node_input: Any) -> Any:
        return RequestInput(interrupt_id="q", message="?", response_schema=int)

    chat = talk(Workflow(name="wf", edges=[("START", question, Log().step("b"))]))
    chat.say("go")
    with pytest.raises(ValueError, match="the answer to 'q'"):
        chat.answer(q="many")
    assert outputs(chat.answer(q=7)) == ["b(7)"]


def test_a_graph_that_was_changed_meanwhile_runs_what_is_new(talk: Any, outputs: Any, store: Any) -> None:
    log = Log()
    talk(Workflow(name="wf", edges=[("START", log.step("a"), log.step("gone"), ask)]), store).say("go")
    changed = Workflow(name="wf", edges=[("START", log.step("a"), log.step("new"), ask, log.step("b"))])
    assert outputs(talk(changed, store).answer(q="yes"))[-1] == "b(yes)"
    assert log.ran == ["a", "gone", "new", "b"]


def test_questions_one_after_the_other_keep_their_first_answers(talk: Any, store: Any) -> None:
    def question(node_input: str) -> Any:
        yield RequestInput(interrupt_id=node_input, message="?", response_schema=int)

    @node(rerun_on_resume=True)
    async def driver(ctx: Any) -> list[Any]:
        return [await ctx.run_node(question, name) for name in ("p", "q", "r")]

    flow = Workflow(name="wf", edges=[("START", driver)])
    talk(flow, store).say("go")
    with pytest.raises(ValueError, match="'p'"):
        talk(flow, store).answer(p="many")
    for answers in ({"p": 1}, {"q": 2}, {"p": 9}):
        talk(flow, store).answer(**answers)
    assert talk(flow, store).answer(r=3)[-1].output == [1, 2, 3]


# --- long-running calls of an agent -----------------------------------------------------------------------------------


def applying(log: Log, status: Any) -> tuple[Workflow, ScriptedModel]:
    """A graph whose agent calls a long-running tool, which answers `status` at once, and then step b."""

    def apply() -> Any:
        return status

    model = ScriptedModel([FunctionCall(name="apply", args={}), "first words", "last words"])
    agent = Agent(name="a", model=model, tools=[LongRunningFunctionTool(apply)])
    return Workflow(name="wf", edges=[("START", agent, log.step("b"))]), model


def decision(events: list[Event]) -> Content:
    (call,) = [c for e in events for c in e.get_function_calls()]
    response = FunctionResponse(id=call.id, name=call.name, response={"result": "granted"})
    return Content(role="user", parts=[Part(function_response=response)])


def said(events: list[Event]) -> list[str]:
    return [p.text for e in events for p in (e.content.parts or () if e.content else ()) if p.text]


def test_an_agent_goes_on_with_a_first_result_and_the_graph_waits_for_the_last(
    talk: Any, outputs: Any, store: Any
) -> None:
    log = Log()
    flow, model = applying(log, {"status": "pending"})
    events = talk(flow, store).say("go")
    assert (said(events), log.ran) == (["first words"], [])
    assert model.requests[1].contents[-1].parts[0].function_response.response == {"status": "pending"}
    assert outputs(talk(flow, store).say(decision(events))) == ["b(first words)"]


def test_an_agent_waits_for_a_result_where_there_is_none_yet(talk: Any, outputs: Any, store: Any) -> None:
    flow, _ = applying(Log(), None)
    events = talk(flow, store).say("go")
    assert said(events) == []
    assert outputs(talk(flow, store).say(decision(events))) == ["b(first words)"]


def test_an_agent_waits_for_the_last_result_where_the_app_resumes(talk: Any, outputs: Any) -> None:
    flow, _ = applying(Log(), {"status": "pending"})
    chat = talk(flow, resumable=True)
    events = chat.say("go")
    assert said(events) == []
    assert outputs(chat.say(decision(events))) == ["b(first words)"]


@pytest.mark.parametrize("include", ["default", "none"])
def test_a_late_approval_is_shown_with_its_call(include: Any) -> None:
    """The answer comes after another message to the graph; the agent that asked goes on with the call's result."""

    def wipe(path: str) -> str:
        """Wipe."""
        return path

    model = ScriptedModel([{"call": "wipe", "args": {"path": "/a"}}, "No.", "Wiped."])
    agent = Agent(
        name="clerk", model=model, tools=[FunctionTool(wipe, require_confirmation=True)], include_contents=include
    )
    chat = Conversation(Workflow(name="flow", edges=[("START", agent)]))
    chat.say("Wipe it.")
    question = chat.answers({"confirmed": True})
    chat.say("Is it done?")
    assert chat.say(question).text == "Wiped."
    parts = [part for content in model.requests[-1].contents for part in content.parts or ()]
    assert [part.function_call.name for part in parts if part.function_call] == ["wipe"]
    assert [part.function_response.response for part in parts if part.function_response] == [{"result": "/a"}]
