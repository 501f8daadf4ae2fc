"""Running graphs: what nodes get and give, who runs when, and what a failure does to the others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from pydantic import BaseModel

from newel import Agent, Context, Event
from newel.agents import LoopAgent, SequentialAgent
from newel.events import EventActions, RequestInput
from newel.testing import ScriptedModel
from newel.tools import AgentTool
from newel.types import FunctionCall
from newel.workflow import (
    BaseNode,
    DynamicNodeFailError,
    FunctionNode,
    JoinNode,
    Node,
    NodeRunner,
    NodeTimeoutError,
    ParallelWorker,
    RetryConfig,
    StateSchemaError,
    Workflow,
    node,
)

QUICK = RetryConfig(max_attempts=4, initial_delay=0.0)


def test_two_terminal_outputs_are_refused_before_either_is_emitted(talk: Any) -> None:
    def left(node_input: Any) -> str:
        return "l"

    async def right(node_input: Any) -> str:
        return "r"

    chat = talk(Workflow(name="wf", edges=[("START", (left, right))]))
    with pytest.raises(ValueError, match=r"\['left', 'right'\]"):
        chat.say("go")
    stored = [(e.author, e.output, e.error_code) for e in chat.stored()]
    assert stored == [("user", None, None), ("wf", None, "ValueError")]


def test_of_two_terminal_nodes_one_may_give_an_output(talk: Any, outputs: Any) -> None:
    def left(node_input: Any) -> str:
        return "l"

    async def right(node_input: Any) -> None:
        await asyncio.sleep(0)

    def tail(node_input: Any) -> str:
        return f"<{node_input}>"

    inner = Workflow(name="inner", edges=[("START", (left, right))])
    assert outputs(talk(Workflow(name="wf", edges=[("START", inner, tail)])).say("go")) == ["l", "<l>"]


@pytest.mark.parametrize("limit", [None, 1])
def test_an_output_that_is_held_keeps_nobody_from_running(talk: Any, outputs: Any, limit: int | None) -> None:
    async def early(ctx: Context) -> AsyncGenerator[Any, None]:
        yield "out"
        ctx.state["after"] = True

    def late(name: str) -> FunctionNode:
        async def wait(node_input: Any) -> None:
            await asyncio.sleep(0)

        return FunctionNode(wait, name=name)

    edges = [("START", (FunctionNode(early), late("a"), late("b")))]
    chat = talk(Workflow(name="wf", edges=edges, max_concurrency=limit))
    events = chat.say("go")
    assert (outputs(events), events[-1].actions.state_delta) == (["out"], {"after": True})


def test_a_producer_resumes_once_its_event_is_committed(talk: Any) -> None:
    counts: list[int] = []

    def speaker(name: str) -> FunctionNode:
        async def speak(ctx: Context) -> AsyncGenerator[Event, None]:
            for index in range(3):
                message = Event(message=f"{name}{index}")
                yield message
                counts.append(sum(event.id == message.id for event in ctx.session.events))
                await asyncio.sleep(0)

        return FunctionNode(speak, name=name)

    events = talk(Workflow(name="wf", edges=[("START", tuple(map(speaker, "abc")))])).say("go")
    assert (len(events), counts) == (9, [1] * 9)


def test_a_failure_cancels_the_others_and_is_reported_once(talk: Any) -> None:
    ended = []

    async def slow(node_input: Any) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("slow")

    async def bad(node_input: Any) -> None:
        await asyncio.sleep(0)
        raise LookupError("gone")

    inner = Workflow(name="inner", edges=[("START", (slow, bad))])
    chat = talk(Workflow(name="wf", edges=[("START", inner)], retry_config=QUICK))
    with pytest.raises(LookupError, match="gone"):
        chat.say("go")
    assert ended == ["slow"]
    assert [(e.error_code, e.node_info.path) for e in chat.stored() if e.error_code] == [
        ("LookupError", "wf@1/inner@1/bad@1")
    ]


def test_closing_the_run_ends_its_nodes(talk: Any) -> None:
    ended = []

    async def slow(ctx: Context) -> AsyncGenerator[Event, None]:
        try:
            yield Event(message="begun")
            await asyncio.Event().wait()
        finally:
            ended.append("slow")

    runner = talk(Workflow(name="wf", edges=[("START", slow)])).runner

    async def leave() -> None:
        events = runner.run_async(user_id="u", session_id="s", new_message="go")
        await anext(events)
        await events.aclose()

    asyncio.run(leave())
    assert ended == ["slow"]


@pytest.mark.parametrize(
    ("config", "attempts"),
    [
        (None, 1),
        (RetryConfig(max_attempts=0, initial_delay=0), 1),
        (RetryConfig(max_attempts=3, initial_delay=0), 3),
        (RetryConfig(initial_delay=0), 5),
        (RetryConfig(initial_delay=0, max_attempts=3, exceptions=[LookupError]), 3),
        (RetryConfig(initial_delay=0, max_attempts=3, exceptions=["KeyError"]), 3),
        (RetryConfig(initial_delay=0, max_attempts=3, exceptions=[ValueError]), 1),
        (RetryConfig(initial_delay=0, max_attempts=3, exceptions=[]), 1),
    ],
)
@pytest.mark.parametrize("waits", [False, True])
def test_each_attempt_is_reported(talk: Any, config: RetryConfig | None, attempts: int, waits: bool) -> None:
    tried: list[int] = []

    def fail(ctx: Context) -> None:
        tried.append(ctx.attempt_count)  # type: ignore[attr-defined]
        raise KeyError("no")

    async def fail_later(ctx: Context) -> None:
        fail(ctx)

    flaky = FunctionNode(fail_later if waits else fail, retry_config=config)
    chat = talk(Workflow(name="wf", edges=[("START", flaky)]))
    with pytest.raises(KeyError):
        chat.say("go")
    assert tried == list(range(1, attempts + 1))
    assert [e.error_code for e in chat.stored()[1:]] == ["KeyError"] * attempts


def test_the_back_off_grows_to_its_limit() -> None:
    config = RetryConfig(max_attempts=2000, initial_delay=1, backoff_factor=3, max_delay=20, jitter=0)
    assert [config.delay(ValueError(), n) for n in (1, 2, 3, 4, 1999, 2000)] == [1, 3, 9, 20, 20, None]
    assert all(0.5 <= (RetryConfig(initial_delay=1, jitter=0.5).delay(ValueError(), 1) or 0) <= 1.5 for _ in range(99))


def test_a_time_out_is_an_attempt_that_failed_and_commits_do_not_count(talk: Any, outputs: Any) -> None:
    tried = []

    async def slow(node_input: Any) -> str:
        tried.append(1)
        if len(tried) == 1:
            await asyncio.Event().wait()
        return "done"

    work = FunctionNode(slow, timeout=0.02, retry_config=QUICK)
    events = talk(Workflow(name="wf", edges=[("START", work)])).say("go")
    assert [e.error_code for e in events] == ["NodeTimeoutError", None]
    assert outputs(events) == ["done"]
    tried.clear()
    with pytest.raises(NodeTimeoutError, match=r"'wf'.*0.01"):
        talk(Workflow(name="wf", edges=[("START", slow)], timeout=0.01)).say("go")


def test_a_worker_keeps_the_order_and_its_bound(talk: Any, outputs: Any) -> None:
    running: set[int] = set()
    most = []

    async def work(node_input: int) -> int:
        running.add(node_input)
        most.append(len(running))
        for _ in range(10 - node_input):
            await asyncio.sleep(0)
        running.remove(node_input)
        return node_input * 10

    def items() -> list[int]:
        return list(range(8))

    flow = Workflow(name="wf", edges=[("START", items, ParallelWorker(work, max_concurrency=3))])
    assert outputs(talk(flow).say("go"))[-1] == [n * 10 for n in range(8)]
    assert max(most) == 3


def test_a_graph_keeps_its_bound(talk: Any) -> None:
    running: set[str] = set()
    most = []

    def worker(name: str) -> FunctionNode:
        async def work(node_input: Any) -> str:
            running.add(name)
            most.append(len(running))
            await asyncio.sleep(0)
            running.remove(name)
            return name

        return FunctionNode(work, name=name)

    edges = [("START", tuple(map(worker, "abcdef")), JoinNode(name="j"))]
    talk(Workflow(name="wf", edges=edges, max_concurrency=2)).say("go")
    assert max(most) == 2


def test_a_node_does_one_thing_at_a_time(talk: Any) -> None:
    log = []

    def a(node_input: Any) -> str:
        return "a"

    def b(node_input: Any) -> str:
        return "b"

    async def shared(ctx: Context, node_input: str) -> None:
        log.append(f"{node_input} begins")
        await asyncio.sleep(0)
        log.append(f"{node_input} ends")

    talk(Workflow(name="wf", edges=[("START", (a, b), shared)])).say("go")
    assert log == ["a begins", "a ends", "b begins", "b ends"]


def test_nodes_that_code_runs(talk: Any) -> None:
    def half(node_input: int) -> float:
        if node_input % 2:
            raise ValueError("odd")
        return node_input / 2

    @node(rerun_on_resume=True)
    async def driver(ctx: Any) -> list[Any]:
        sound = await asyncio.gather(*(ctx.run_node(half, n, use_sub_branch=True) for n in (2, 4)))
        try:
            await ctx.run_node(half, 3)
        except DynamicNodeFailError as failure:
            sound.append(type(failure.error).__name__)
        context = await NodeRunner(node=FunctionNode(half), parent_ctx=ctx, run_id="x").run(5)
        same = [await ctx.run_node(half, n, run_id="kept") for n in (10, 20)]
        return [*sound, str(context.error), context.error_node_path, *same]

    events = talk(Workflow(name="wf", edges=[("START", driver)])).say("go")
    assert events[-1].output == [1.0, 2.0, "ValueError", "odd", "wf@1/driver@1/half@x", 5.0, 5.0]
    assert [e.branch for e in events if e.output in (1.0, 2.0)] == ["half@1", "half@2"]


def test_code_that_runs_nodes_must_run_again(talk: Any) -> None:
    async def driver(ctx: Any) -> Any:
        return await ctx.run_node(lambda: 1)

    with pytest.raises(ValueError, match=r"wf@1/driver@1 .*rerun_on_resume=True"):
        talk(Workflow(name="wf", edges=[("START", driver)])).say("go")


def test_a_delegate_gives_the_output(talk: Any, outputs: Any) -> None:
    def child(node_input: Any) -> str:
        return "theirs"

    @node(rerun_on_resume=True)
    async def driver(ctx: Any) -> None:
        await ctx.run_node(child, use_as_output=True)

    def tail(node_input: Any) -> str:
        return f"<{node_input}>"

    assert outputs(talk(Workflow(name="wf", edges=[("START", driver, tail)])).say("go")) == ["theirs", "<theirs>"]


def test_a_state_schema_holds_in_nested_graphs(talk: Any) -> None:
    class Schema(BaseModel):
        n: int = 0

    def good(ctx: Context) -> None:
        ctx.state["n"] = 1
        ctx.state["user:anything"] = "x"

    def bad(ctx: Context) -> None:
        ctx.state["n"] = "many"

    inner = Workflow(name="inner", edges=[("START", bad)])
    with pytest.raises(StateSchemaError, match="'n'"):
        talk(Workflow(name="wf", edges=[("START", good, inner)], state_schema=Schema)).say("go")

    def reads(missing: str) -> None: ...

    with pytest.raises(StateSchemaError, match="'missing' of node 'reads'"):
        Workflow(name="wf", edges=[("START", reads)], state_schema=Schema)


def test_what_nodes_of_ones_own_yield(talk: Any) -> None:
    class Own(BaseNode):
        async def _run_impl(self, *, ctx: Any, node_input: Any) -> AsyncGenerator[Any, None]:
            yield Event(message="on it", actions=EventActions(state_delta={"k": 1}))
            ctx.state["l"] = 2
            yield {"n": 1}

    class Each(Node):
        async def run_node_impl(self, *, ctx: Any, node_input: Any) -> AsyncGenerator[Any, None]:
            yield node_input * 2

    def items(k: int, l: int) -> list[int]:  # noqa: E741
        return [k, l]

    edges = [("START", Own(name="own"), items, Each(name="each", parallel_worker=True))]
    chat = talk(Workflow(name="wf", edges=edges))
    assert chat.say("go")[-1].output == [2, 4]


def test_an_item_of_a_parallel_worker_is_tried_again_by_its_own_config(talk: Any) -> None:
    tried: list[int] = []

    def flaky(node_input: int) -> int:
        tried.append(node_input)
        if tried.count(2) == 1 and node_input == 2:
            raise ValueError("once")
        return node_input

    def items(node_input: Any) -> list[int]:
        return [1, 2, 3]

    again = RetryConfig(initial_delay=0.0)
    of_items = node(node(flaky, retry_config=again), parallel_worker=True)
    assert talk(Workflow(name="wf", edges=[("START", items, of_items)])).say("go")[-1].output == [1, 2, 3]
    assert sorted(tried) == [1, 2, 2, 3]
    tried.clear()
    of_the_worker = node(flaky, parallel_worker=True, retry_config=again)
    with pytest.raises(ValueError, match="once"):
        talk(Workflow(name="wf", edges=[("START", items, of_the_worker)])).say("go")
    assert tried.count(2) == 1


def test_a_plain_node_is_a_root(talk: Any) -> None:
    def shout(node_input: str) -> str:
        return node_input.upper()

    [event] = talk(FunctionNode(shout)).say("go")
    assert (event.author, event.output, event.node_info.path) == ("shout", "GO", "shout@1")


def test_a_graph_among_agents_a_loop_runs_it_anew(talk: Any, outputs: Any) -> None:
    def count(ctx: Context) -> int:
        ctx.state["n"] = ctx.state.get("n", 0) + 1
        return int(ctx.state["n"])

    flow = Workflow(name="wf", edges=[("START", count)])
    loop = LoopAgent(name="loop", sub_agents=[flow], max_iterations=3)
    events = talk(SequentialAgent(name="seq", sub_agents=[loop])).say("go")
    assert (outputs(events), events[-1].node_info.path) == ([1, 2, 3], "wf@3/count@1")


def test_an_agents_answer_is_the_output(talk: Any, outputs: Any) -> None:
    model = ScriptedModel(["a poem", "another"])

    def shout(node_input: str) -> str:
        return node_input.upper()

    chat = talk(Workflow(name="wf", edges=[("START", Agent(name="poet", model=model), shout)]))
    assert outputs(chat.say("sea")) == ["A POEM"]
    assert outputs(chat.say("hill")) == ["ANOTHER"]
    assert [[p.text for c in r.contents for p in c.parts] for r in model.requests] == [["sea"], ["hill"]]


def test_committed_outputs_do_not_change(talk: Any) -> None:
    def make() -> dict[str, list[int]]:
        return {"n": [1]}

    def spoil(node_input: dict[str, list[int]]) -> str:
        node_input["n"].append(2)
        return "spoilt"

    chat = talk(Workflow(name="wf", edges=[("START", make, spoil)]))
    chat.say("go")
    assert chat.stored()[1].output == {"n": [1]}


def test_a_graph_is_a_tool_whose_result_is_its_output(talk: Any) -> None:
    def double(node_input: str) -> dict[str, str]:
        return {"twice": node_input * 2}

    tool = AgentTool(Workflow(name="doubling", edges=[("START", double)]))
    call = FunctionCall(name="doubling", args={"request": "ab"})
    events = talk(Agent(name="root", model=ScriptedModel([call, "done"]), tools=[tool])).say("go")
    assert events[1].get_function_responses()[0].response == {"twice": "abab"}


def test_a_node_that_asked_does_nothing_else_meanwhile(talk: Any) -> None:
    def first(node_input: Any) -> str:
        return "first"

    async def second(node_input: Any) -> str:
        return "second"

    def shared(node_input: str) -> Any:
        return RequestInput(interrupt_id=node_input, message="?")

    chat = talk(Workflow(name="wf", edges=[("START", (first, second), shared)]))
    questions: list[str] = []
    events = chat.say("go")
    while events:
        new = [name for event in events for name in event.long_running_tool_ids or ()]
        assert len(new) == 1
        questions += new
        events = chat.answer(**{new[0]: "yes"})
    assert sorted(questions) == ["first", "second"]
