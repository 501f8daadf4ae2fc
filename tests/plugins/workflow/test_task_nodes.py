"""Task agents as nodes: a conversation of their own with the user, over as many turns as it takes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from newel import Agent, Context, Event
from newel.agents import LoopAgent, ParallelAgent, SequentialAgent
from newel.sessions import InMemorySessionService, SqliteSessionService
from newel.testing import ScriptedModel
from newel.tools import FunctionTool, LongRunningFunctionTool
from newel.types import Content, FunctionCall, FunctionResponse, Part
from newel.workflow import JoinNode, ParallelWorker, Workflow, node


class Booking(BaseModel):
    room: str
    nights: int = 1


@pytest.fixture(params=["memory", "sqlite"])
def store(request: Any, tmp_path: Path) -> Any:
    return InMemorySessionService() if request.param == "memory" else SqliteSessionService(str(tmp_path / "s.db"))


@pytest.fixture(params=["plain", "resumable"])
def resumable(request: Any) -> bool:
    return bool(request.param == "resumable")


def done(result: Any = "r") -> FunctionCall:
    return FunctionCall(name="finish_task", args={"result": result})


def task(name: str, *script: Any, **fields: Any) -> Agent:
    fields.setdefault("output_schema", str)
    return Agent(name=name, model=ScriptedModel(list(script)), mode="task", **fields)


def seen(agent: Agent, index: int = -1) -> list[str]:
    """What the model saw in one of its requests: each content's role and its text, call or result."""
    lines = []
    for content in agent.model.requests[index].contents:
        for part in content.parts:
            text = part.text or (part.function_call or part.function_response).name
            lines.append(f"{content.role}: {text}")
    return lines


def texts(events: list[Event]) -> list[str]:
    return [f"{e.author}: {p.text}" for e in events if e.content for p in e.content.parts or () if p.text]


def tail(node_input: Any) -> str:
    return f"tail({node_input})"


def test_what_it_finishes_with_is_the_nodes_output(talk: Any, outputs: Any, resumable: bool) -> None:
    call = FunctionCall(name="finish_task", args={"room": "12", "nights": "2"})
    clerk = task("clerk", call, output_schema=Booking)
    chat = talk(Workflow(name="wf", edges=[("START", clerk, tail)]), resumable=resumable)
    events = chat.say("go")
    assert outputs(events) == [{"room": "12", "nights": 2}, "tail({'room': '12', 'nights': 2})"]
    assert {e.isolation_scope for e in events if e.author == "clerk"} == {"wf@1/clerk@1"}
    assert seen(clerk) == ["user: go"]
    assert next(e for e in events if e.output).node_info.path == "wf@1/clerk@1"


def test_it_talks_with_the_user_until_it_is_done(talk: Any, outputs: Any, resumable: bool, store: Any) -> None:
    ran: list[str] = []

    def first(node_input: str) -> str:
        ran.append("first")
        return f"first({node_input})"

    def again(*script: Any) -> tuple[Any, Agent]:
        """Another process."""
        clerk = task("clerk", *script)
        return talk(Workflow(name="wf", edges=[("START", first, clerk, tail)]), store, resumable=resumable), clerk

    turn, _ = again("Which room?")
    reply = turn.say("go")
    assert texts(reply) == ["clerk: Which room?"]
    assert outputs(reply) == ["first(go)"]
    turn, _ = again("How long?")
    assert (texts(more := turn.say("12")), outputs(more)) == (["clerk: How long?"], [])
    turn, clerk = again(done("booked"))
    last = turn.say("a day")
    assert outputs(last) == ["booked", "tail(booked)"]
    assert ran == ["first"]
    assert seen(clerk) == [
        "user: first(go)",
        "model: Which room?",
        "user: 12",
        "model: How long?",
        "user: a day",
    ]
    assert len({e.invocation_id for e in turn.stored()}) == 1

    turn, clerk = again(done())
    fresh = turn.say("once more")
    assert outputs(fresh) == ["first(once more)", "r", "tail(r)"]
    assert fresh[0].invocation_id != last[0].invocation_id
    assert seen(clerk) == ["user: first(once more)"]


def test_a_result_of_nothing_is_a_result(talk: Any, outputs: Any, resumable: bool) -> None:
    clerk = task("clerk", "?", done(None), "new?", output_schema=int | None)
    chat = talk(Workflow(name="wf", edges=[("START", clerk, tail)]), resumable=resumable)
    chat.say("go")
    assert outputs(chat.say("none")) == ["tail(None)"]
    assert texts(chat.say("new")) == ["clerk: new?"]
    assert len({e.invocation_id for e in chat.stored()}) == 2
    assert seen(clerk) == ["user: new"]


def test_code_that_runs_a_task_runs_again_with_what_is_done(
    talk: Any, outputs: Any, resumable: bool, store: Any
) -> None:
    got: list[Any] = []
    ran: list[str] = []

    def step(node_input: str) -> str:
        ran.append(node_input)
        return f"step({node_input})"

    def again(*script: Any) -> tuple[Any, Agent]:
        clerk = task("clerk", *script)

        @node(rerun_on_resume=True)
        async def drive(ctx: Context, node_input: str) -> str:
            before = await ctx.run_node(step, node_input)  # type: ignore[attr-defined]
            booked = await ctx.run_node(clerk, before)  # type: ignore[attr-defined]
            got.append(booked)
            return str(await ctx.run_node(clerk, f"after {booked}"))  # type: ignore[attr-defined]

        return talk(Workflow(name="wf", edges=[("START", drive, tail)]), store, resumable=resumable), clerk

    turn, _ = again("Which?")
    assert texts(turn.say("go")) == ["clerk: Which?"]
    assert got == []
    turn, clerk = again(done("one"), "And now?")
    assert outputs(turn.say("12")) == ["one"]
    assert seen(clerk) == ["user: after one"]
    turn, clerk = again(done("two"))
    assert outputs(turn.say("bye"))[-1] == "tail(two)"
    assert seen(clerk) == ["user: after one", "model: And now?", "user: bye"]
    assert (ran, got) == (["go"], ["one", "one"])


def test_a_scope_of_the_callers_choice(talk: Any, outputs: Any, resumable: bool) -> None:
    clerk = task("clerk", "?", done("x"))

    @node(rerun_on_resume=True)
    async def drive(ctx: Context, node_input: str) -> Any:
        return await ctx.run_node(clerk, node_input, override_isolation_scope="desk")  # type: ignore[attr-defined]

    chat = talk(Workflow(name="wf", edges=[("START", drive)]), resumable=resumable)
    assert chat.say("go")[0].isolation_scope == "desk"
    assert outputs(chat.say("on"))[-1] == "x"
    assert seen(clerk) == ["user: go", "model: ?", "user: on"]


def approval(events: list[Event], confirmed: bool = True) -> Content:
    call = next(c for e in events if e.long_running_tool_ids for c in e.get_function_calls())
    result = FunctionResponse(id=call.id, name=call.name, response={"confirmed": confirmed})
    return Content(role="user", parts=[Part(function_response=result)])


def test_a_confirmation_within_a_task(talk: Any, outputs: Any, resumable: bool, store: Any) -> None:
    paid: list[int] = []

    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    def again(*script: Any) -> Any:
        clerk = task("clerk", *script, tools=[FunctionTool(pay, require_confirmation=True)])
        return talk(Workflow(name="wf", edges=[("START", clerk, tail)]), store, resumable=resumable)

    assert texts(again("Pay?").say("go")) == ["clerk: Pay?"]
    reply = again(FunctionCall(name="pay", args={"amount": 3})).say("yes")
    assert (paid, outputs(reply)) == ([], [])
    assert texts(again("More?").say(approval(reply))) == ["clerk: More?"]
    assert paid == [3]
    assert outputs(again(done()).say("no")) == ["r", "tail(r)"]


def test_a_long_running_tool_within_a_task(talk: Any, outputs: Any, resumable: bool) -> None:
    def order() -> None:
        """Order."""

    clerk = task("clerk", FunctionCall(name="order", args={}), done(), tools=[LongRunningFunctionTool(order)])
    chat = talk(Workflow(name="wf", edges=[("START", clerk, tail)]), resumable=resumable)
    assert outputs(events := chat.say("go")) == []
    assert outputs(chat.say(approval(events))) == ["r", "tail(r)"]


def test_words_in_the_place_of_an_answer_go_to_the_task(talk: Any, outputs: Any, resumable: bool) -> None:
    def order() -> None:
        """Order."""

    clerk = task("clerk", FunctionCall(name="order", args={}), done(), tools=[LongRunningFunctionTool(order)])
    chat = talk(Workflow(name="wf", edges=[("START", clerk, tail)]), resumable=resumable)
    chat.say("go")
    assert outputs(chat.say("never mind")) == ["r", "tail(r)"]


def test_of_two_that_ask_the_latest_is_talked_to_first(talk: Any, outputs: Any, resumable: bool, store: Any) -> None:
    def again(one: list[Any], two: list[Any]) -> tuple[Any, Agent, Agent]:
        a, b = task("a", *one), task("b", *two)
        flow = Workflow(name="wf", edges=[("START", (a, b), JoinNode(name="both"), tail)])
        return talk(flow, store, resumable=resumable), a, b

    reply = texts(again(["a?"], ["b?"])[0].say("go"))
    assert sorted(reply) == ["a: a?", "b: b?"]
    latest = reply[-1][0]
    other = "ab".replace(latest, "")
    scripts = {latest: [done(latest)], other: []}
    turn, *_ = again(scripts["a"], scripts["b"])
    assert outputs(turn.say("for the latest")) == [latest]
    scripts = {latest: [], other: ["more?", done(other)]}
    turn, *agents = again(scripts["a"], scripts["b"])
    assert texts(turn.say("for the other")) == [f"{other}: more?"]
    assert outputs(turn.say("and again"))[-1] == "tail({'a': 'a', 'b': 'b'})"
    asker = next(agent for agent in agents if agent.name == other)
    assert seen(asker) == [
        "user: go",
        f"model: {other}?",
        "user: for the other",
        "model: more?",
        "user: and again",
    ]


def test_a_confirmation_beside_a_task_in_conversation(talk: Any, outputs: Any, resumable: bool) -> None:
    """Words go to the one, the approval to the other, and neither runs for the other's sake."""

    def pay() -> str:
        """Pay."""
        return "paid"

    a = task("a", FunctionCall(name="pay", args={}), done("a"), tools=[FunctionTool(pay, require_confirmation=True)])
    b = task("b", "b?", "b??", done("b"))
    chat = talk(Workflow(name="wf", edges=[("START", (a, b), JoinNode(name="both"))]), resumable=resumable)
    reply = chat.say("go")
    approved = chat.say(approval(reply))
    assert (texts(approved), outputs(approved)) == ([], ["a"])
    assert texts(chat.say("hm")) == ["b: b??"]
    assert outputs(chat.say("so"))[-1] == {"a": "a", "b": "b"}


def test_a_task_gives_tasks(talk: Any, outputs: Any, resumable: bool, store: Any) -> None:
    def again(outer: list[Any], inner: list[Any]) -> tuple[Any, Agent, Agent]:
        helper = task("helper", *inner, description="Helps.")
        clerk = task("clerk", *outer, sub_agents=[helper])
        return talk(Workflow(name="wf", edges=[("START", clerk, tail)]), store, resumable=resumable), clerk, helper

    reply = again([FunctionCall(name="helper", args={"request": "help"})], ["helper?"])[0].say("go")
    assert texts(reply) == ["helper: helper?"]
    turn, clerk, helper = again(["clerk?"], [done("helped")])
    assert texts(turn.say("to the helper")) == ["clerk: clerk?"]
    assert seen(helper)[-1] == "user: to the helper"
    assert "user: to the helper" not in seen(clerk)
    assert outputs(again([done()], [])[0].say("to the clerk")) == ["r", "tail(r)"]


def test_tasks_on_the_items_of_a_list(talk: Any, outputs: Any, resumable: bool) -> None:
    clerk = task("clerk", "?", "?", done("x"), done("y"))
    flow = Workflow(name="wf", edges=[("START", lambda_list, ParallelWorker(clerk), tail)])
    chat = talk(flow, resumable=resumable)
    assert texts(chat.say("go")) == ["clerk: ?", "clerk: ?"]
    chat.say("first")
    assert outputs(chat.say("second"))[-1] == "tail(['y', 'x'])"


def lambda_list(node_input: str) -> list[str]:
    return ["one", "two"]


def test_a_graph_within_a_graph(talk: Any, outputs: Any, resumable: bool, store: Any) -> None:
    def again(*script: Any) -> Any:
        inner = Workflow(name="inner", edges=[("START", task("clerk", *script), tail)])
        return talk(Workflow(name="wf", edges=[("START", inner, tail)]), store, resumable=resumable)

    again("?").say("go")
    assert outputs(again(done()).say("on")) == ["r", "tail(r)", "tail(tail(r))"]


def test_a_turn_that_failed_is_made_up_for(talk: Any, outputs: Any, resumable: bool, store: Any) -> None:
    """The message is in the session; the next one goes to the same task."""

    def again(*script: Any) -> tuple[Any, Agent]:
        clerk = task("clerk", *script)
        return talk(Workflow(name="wf", edges=[("START", clerk, tail)]), store, resumable=resumable), clerk

    again("?")[0].say("go")
    with pytest.raises(Exception, match="script"):
        again()[0].say("lost")
    turn, clerk = again(done())
    assert outputs(turn.say("found")) == ["r", "tail(r)"]
    assert seen(clerk)[-2:] == ["user: lost", "user: found"]


@pytest.mark.parametrize("length", range(1, 5))
def test_a_process_that_dies_in_a_later_turn(talk: Any, outputs: Any, store: Any, length: int) -> None:
    def again(*script: Any) -> Any:
        clerk = task("clerk", *script, tools=[look])
        return talk(Workflow(name="wf", edges=[("START", clerk, tail)]), store, resumable=True)

    def look() -> str:
        """Look."""
        return "seen"

    steps = [FunctionCall(name="look", args={}), done()]
    reply = again("?").say("go")
    runner = again(*steps).runner

    async def cut() -> None:
        events = runner.run_async(user_id="u", session_id="s", new_message="on")
        for _ in range(length):
            await anext(events)
        await events.aclose()

    asyncio.run(cut())
    turn = again(*steps[1 if length < 3 else 2 :])
    turn.say(invocation_id=reply[0].invocation_id)
    assert outputs(turn.stored()) == ["r", "tail(r)"]


def test_resuming_without_a_message_says_nothing_twice(talk: Any, store: Any) -> None:
    clerk = task("clerk", "?", "never")
    chat = talk(Workflow(name="wf", edges=[("START", clerk, tail)]), store, resumable=True)
    reply = chat.say("go")
    assert texts(chat.say(invocation_id=reply[0].invocation_id)) == []
    assert len(clerk.model.requests) == 1  # type: ignore[union-attr]


def test_code_that_ends_without_its_task_closes_the_conversation(talk: Any, outputs: Any, resumable: bool) -> None:
    clerk = task("clerk", "?", "? again")

    @node(rerun_on_resume=True)
    async def drive(ctx: Context, node_input: str) -> str:
        try:
            return str(await ctx.run_node(clerk, node_input))  # type: ignore[attr-defined]
        except BaseException:
            return "gave up"

    chat = talk(Workflow(name="wf", edges=[("START", drive, tail)]), resumable=resumable)
    assert outputs(chat.say("go")) == ["gave up", "tail(gave up)"]
    assert outputs(chat.say("new")) == ["gave up", "tail(gave up)"]
    assert seen(clerk) == ["user: new"]


def test_in_a_team_the_message_goes_straight_to_the_task(talk: Any, outputs: Any, resumable: bool, store: Any) -> None:
    def again(lead: list[Any], *script: Any) -> Any:
        flow = Workflow(name="wf", edges=[("START", task("clerk", *script), tail)])
        middle = Agent(name="middle", model=ScriptedModel(lead[1:]), sub_agents=[flow])
        root = Agent(name="root", model=ScriptedModel(lead[:1]), sub_agents=[middle])
        return talk(root, store, resumable=resumable)

    def to(name: str) -> FunctionCall:
        return FunctionCall(name="transfer_to_agent", args={"agent_name": name})

    assert texts(again([to("middle"), to("wf")], "?").say("go")) == ["clerk: ?"]
    assert texts(again([], "??").say("on")) == ["clerk: ??"]
    last = again([], done()).say("and on")
    assert outputs(last) == ["r", "tail(r)"]
    assert texts(again(["", "hello"]).say("hi")) == ["middle: hello"]


@pytest.mark.parametrize("around", [SequentialAgent, LoopAgent, ParallelAgent])
def test_agents_around_a_graph_wait_for_its_task(talk: Any, outputs: Any, store: Any, around: Any) -> None:
    def again(*script: Any) -> Any:
        flow = Workflow(name="wf", edges=[("START", task("clerk", *script), tail)])
        if around is ParallelAgent:
            return talk(around(name="all", sub_agents=[flow]), store, resumable=True)
        after = Agent(name="after", model=ScriptedModel(["after"]))
        more = {"max_iterations": 1} if around is LoopAgent else {}
        return talk(around(name="all", sub_agents=[flow, after], **more), store, resumable=True)

    assert texts(again("?").say("go")) == ["clerk: ?"]
    assert texts(again("??").say("on")) == ["clerk: ??"]
    last = again(done()).say("and on")
    assert outputs(last) == ["r", "tail(r)"]
    assert texts(last) == ([] if around is ParallelAgent else ["after: after"])
    assert len({event.invocation_id for event in last}) == 1
