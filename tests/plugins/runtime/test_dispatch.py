"""Tool dispatch: side by side, merged in order; where one fails the others are cancelled and awaited."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newel.agents import LlmAgent, ParallelAgent
from newel.testing import ScriptedModel
from newel_kernel import BaseTool, Context, Event, EventActions, ToolAbortedError
from newel_kernel._internal.dispatch import merge_results
from newel_types import Content, FunctionCall, FunctionDeclaration, FunctionResponse, Part


def waiter(*steps: Any, **fields: Any) -> LlmAgent:
    return LlmAgent(name="waiter", model=ScriptedModel(steps), **fields)


class Kitchen:
    """Tools that note what happens to them."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.ready = asyncio.Event()

    async def cook(self, dish: str) -> str:
        """Takes for ever."""
        self.log.append(f"start {dish}")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await asyncio.sleep(0.01)  # cleaning up takes a while, and is waited for
            self.log.append(f"cleaned {dish}")
            raise
        return dish

    async def burn(self) -> str:
        """Fails once the others have started."""
        await asyncio.sleep(0.005)
        self.log.append("burn")
        raise ValueError("smoke")


async def alone() -> list[str]:
    """The names of the tasks that are left besides this one."""
    return [task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()]


def test_calls_run_side_by_side_and_answer_in_call_order(talk: Any, call: Any) -> None:
    running = most = 0

    async def slow(n: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01 * (5 - n))
        running -= 1
        return n

    conversation = talk(waiter([call("slow", n=n) for n in range(5)], "ok", tools=[slow]))
    events = conversation.say("go")
    assert most == 5
    assert [r.response for r in events[1].get_function_responses()] == [{"result": n} for n in range(5)]
    assert [r.id for r in events[1].get_function_responses()] == [c.id for c in events[0].get_function_calls()]
    assert len(conversation.session.events) == 4


def test_one_result_event_with_the_actions_of_all(talk: Any, call: Any) -> None:
    def left(tool_context: Context) -> dict[str, int]:
        tool_context.state.update(a=1, nested={"x": 1})
        tool_context.actions.artifact_delta["f"] = 0
        return {"l": 1}

    def right(tool_context: Context) -> dict[str, int]:
        tool_context.state.update(b=2, nested={"y": 2})
        tool_context.actions.skip_summarization = True
        return {"r": 2}

    def plain() -> None:
        """Touches nothing."""

    conversation = talk(waiter([call("left"), call("plain"), call("right")], tools=[left, right, plain]))
    event = conversation.say("go")[-1]
    assert [r.response for r in event.get_function_responses()] == [{"l": 1}, {"result": None}, {"r": 2}]
    assert event.content.role == "user"
    assert event.actions == EventActions(
        state_delta={"a": 1, "b": 2, "nested": {"x": 1, "y": 2}}, artifact_delta={"f": 0}, skip_summarization=True
    )
    assert conversation.session.state == {"a": 1, "b": 2, "nested": {"x": 1, "y": 2}}


def test_state_of_one_call_is_seen_by_the_other(talk: Any, call: Any) -> None:
    async def write(tool_context: Context) -> str:
        tool_context.state["x"] = 1
        return "w"

    async def read(tool_context: Context) -> Any:
        await asyncio.sleep(0)
        return tool_context.state.get("x")

    event = talk(waiter([call("write"), call("read")], "ok", tools=[write, read])).say("go")[1]
    assert event.get_function_responses()[1].response == {"result": 1}


@pytest.mark.parametrize("position", [0, 1, 2])
def test_where_one_call_raises_the_others_are_cancelled_and_awaited(talk: Any, call: Any, position: int) -> None:
    async def run() -> None:
        kitchen = Kitchen()
        calls = [call("cook", dish="a"), call("cook", dish="b")]
        calls.insert(position, call("burn"))
        conversation = talk(waiter(calls, tools=[kitchen.cook, kitchen.burn]))
        with pytest.raises(ValueError, match="smoke"):
            await conversation.send("go")
        assert sorted(kitchen.log) == ["burn", "cleaned a", "cleaned b", "start a", "start b"]
        assert await alone() == []
        assert len((await conversation.stored()).events) == 2

    asyncio.run(run())


def test_two_that_fail_at_once_raise_one_error_and_leak_none(talk: Any, call: Any) -> None:
    async def first() -> None:
        raise ValueError("first")

    async def second() -> None:
        raise KeyError("second")

    async def run() -> None:
        with pytest.raises(ValueError, match="first"):
            await talk(waiter([call("first"), call("second")], tools=[first, second])).send("go")
        assert await alone() == []

    asyncio.run(run())


@pytest.mark.parametrize("count", [1, 3])
def test_cancelling_the_run_cancels_its_calls_and_awaits_them(talk: Any, call: Any, count: int) -> None:
    async def run() -> None:
        kitchen = Kitchen()
        conversation = talk(waiter([call("cook", dish=str(n)) for n in range(count)], tools=[kitchen.cook]))
        task = asyncio.create_task(conversation.send("go"))
        while len(kitchen.log) < count:
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert sorted(kitchen.log)[:count] == [f"cleaned {n}" for n in range(count)]
        assert await alone() == []

    asyncio.run(run())


def test_the_results_of_calls_that_had_ended_are_stored_of_each_agent_that_is_cancelled(talk: Any, call: Any) -> None:
    async def run() -> None:
        kitchen = Kitchen()

        async def brew() -> str:
            return "tea"

        def agent(name: str) -> LlmAgent:
            model = ScriptedModel([[call("brew"), call("cook", dish=name)]])
            return LlmAgent(name=name, model=model, tools=[brew, kitchen.cook])

        conversation = talk(ParallelAgent(name="both", sub_agents=[agent("a"), agent("b")]), distribution="standard")
        task = asyncio.create_task(conversation.send("go"))
        while len(kitchen.log) < 2:
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        stored = (await conversation.stored()).events
        results = [(one.author, response.response) for one in stored for response in one.get_function_responses()]
        assert sorted(one for one, response in results if response == {"result": "tea"}) == ["a", "b"]

    asyncio.run(run())


def test_an_error_that_a_callback_answers_does_not_disturb_the_others(talk: Any, call: Any) -> None:
    seen: list[Any] = []

    def answer(tool: Any, args: Any, tool_context: Any, error: Exception) -> dict[str, str]:
        seen.append((tool.name, args))
        return {"error": str(error)}

    async def fine() -> str:
        await asyncio.sleep(0.001)
        return "ok"

    def bad(dish: str) -> None:
        raise ValueError("smoke")

    agent = waiter(
        [call("bad", dish="tea"), call("fine"), call("gone")], "done", tools=[bad, fine], on_tool_error_callback=answer
    )
    bad_result, fine_result, gone = talk(agent).say("go")[1].get_function_responses()
    assert (bad_result.response, fine_result.response) == ({"error": "smoke"}, {"result": "ok"})
    assert gone.response == {"error": "Tool 'gone' not found.\nAvailable tools: bad, fine"}
    assert sorted(seen) == [("bad", {"dish": "tea"}), ("gone", {})]


def test_an_unknown_tool_raises_where_nobody_answers(talk: Any, call: Any) -> None:
    with pytest.raises(ValueError, match="Tool 'gone' not found"):
        talk(waiter(call("gone"))).say("go")


def test_a_callback_that_answers_for_an_unknown_tool_sees_the_call(talk: Any, call: Any) -> None:
    seen: list[Any] = []

    def answer(tool: Any, args: Any, tool_context: Any, error: Exception) -> dict[str, str]:
        seen.append((tool.name, tool.description, args, tool_context.function_call_id, str(error)))
        tool_context.state["gone"] = tool.name
        return {"error": "no such dish"}

    conversation = talk(waiter(call("gone", "c-1", dish="tea"), "ok", on_tool_error_callback=answer))
    response = conversation.say("go")[1].get_function_responses()[0]
    assert (response.id, response.name, response.response) == ("c-1", "gone", {"error": "no such dish"})
    ((name, description, args, call_id, error),) = seen
    assert (name, description, args, call_id) == ("gone", "Tool not found", {"dish": "tea"}, "c-1")
    assert error.startswith("Tool 'gone' not found")
    assert conversation.session.state == {"gone": "gone"}


@pytest.mark.parametrize("raised", [SystemExit(1), KeyboardInterrupt(), asyncio.CancelledError()])
def test_what_would_end_the_process_is_an_error_of_the_tool(talk: Any, call: Any, raised: BaseException) -> None:
    def leave() -> None:
        raise raised

    where = r"the tool 'leave' \(.*leave\) raised " + type(raised).__name__
    with pytest.raises(ToolAbortedError, match=where) as error:
        talk(waiter(call("leave"), tools=[leave]), distribution="minimal").say("go")
    assert error.value.__cause__ is raised


@pytest.mark.parametrize(
    ("fields", "results"),
    [({}, [{"result": None}]), ({"_defers_response": True}, []), ({"is_long_running": True}, [])],
)
def test_a_call_that_returns_nothing_has_a_result_unless_it_comes_later(
    talk: Any, call: Any, fields: dict[str, bool], results: list[Any]
) -> None:
    class Desk(BaseTool):
        def _get_declaration(self) -> FunctionDeclaration:
            return FunctionDeclaration(name=self.name)

        async def run_async(self, *, args: Any, tool_context: Any) -> Any:
            return answer

    answer: Any = None
    desk = Desk(name="desk")
    for name, value in fields.items():
        setattr(desk, name, value)

    def responses() -> list[Any]:
        events = talk(waiter(call("desk"), "done", tools=[desk])).say("go")
        return [one.response for event in events for one in event.get_function_responses()]

    assert responses() == results
    for answer in ({"a": 1}, {}, "", 0, False, []):  # an empty result is a result
        assert responses() == [answer if isinstance(answer, dict) else {"result": answer}]


def test_a_call_that_names_no_tool_is_one_of_an_unknown_tool(talk: Any) -> None:
    with pytest.raises(ValueError, match="Tool '' not found"):
        talk(waiter(Part(function_call=FunctionCall(args={})))).say("go")


def test_side_by_side_each_call_has_a_task_with_the_tool_s_name(talk: Any, call: Any) -> None:
    async def pour() -> str:
        task = asyncio.current_task()
        assert task is not None
        return task.get_name()

    event = talk(waiter([call("pour"), call("pour")], "ok", tools=[pour])).say("go")[1]
    assert [r.response for r in event.get_function_responses()] == [{"result": "tool pour"}] * 2


def test_a_callback_may_answer_in_the_tools_stead_and_change_results(talk: Any, call: Any) -> None:
    ran: list[str] = []

    def tool(n: int) -> dict[str, int]:
        ran.append(f"tool {n}")
        return {"n": n}

    def before(tool: Any, args: dict[str, Any], tool_context: Any) -> Any:
        return {"early": True} if args["n"] == 0 else None

    def after(tool: Any, args: dict[str, Any], tool_context: Any, tool_response: Any) -> Any:
        return {**tool_response, "seen": True} if args["n"] != 2 else None

    agent = waiter(
        [call("tool", n=n) for n in range(3)],
        "ok",
        tools=[tool],
        before_tool_callback=before,
        after_tool_callback=after,
    )
    results = [r.response for r in talk(agent).say("go")[1].get_function_responses()]
    assert results == [{"early": True, "seen": True}, {"n": 1, "seen": True}, {"n": 2}]
    assert ran == ["tool 1", "tool 2"]


def test_an_empty_answer_is_an_answer(talk: Any, call: Any) -> None:
    """RULINGS: the first result that is not None wins."""

    def tool() -> str:
        raise AssertionError("must not run")

    agent = waiter(call("tool"), "ok", tools=[tool], before_tool_callback=lambda tool, args, tool_context: {})
    assert talk(agent).say("go")[1].get_function_responses()[0].response == {}


@pytest.mark.parametrize(
    ("result", "response"),
    [
        ({"x": 1}, {"x": 1}),
        ("text", {"result": "text"}),
        (None, {"result": None}),
        ([1], {"result": [1]}),
        (0, {"result": 0}),
        ({}, {}),
    ],
)
def test_a_result_is_a_dict_or_is_wrapped(talk: Any, call: Any, result: Any, response: Any) -> None:
    def tool() -> Any:
        return result

    assert talk(waiter(call("tool"), "ok", tools=[tool])).say("go")[1].get_function_responses()[0].response == response


def test_a_sub_branch_is_on_the_results(talk: Any, call: Any) -> None:
    from newel.agents import ParallelAgent

    def ping() -> str:
        return "pong"

    agents = [LlmAgent(name=n, model=ScriptedModel([call("ping"), "ok"]), tools=[ping]) for n in ("a", "b")]
    for event in talk(ParallelAgent(name="both", sub_agents=agents)).say("go"):
        assert event.branch == f"both.{event.author}"


def result(n: int, **actions: Any) -> Event:
    part = Part(function_response=FunctionResponse(name="t", id=f"c{n}", response={"n": n}))
    made = EventActions(**actions) if actions else None
    return Event(
        author="a",
        invocation_id="e-1",
        branch="b",
        timestamp=float(n),
        content=Content(role="user", parts=[part]),
        actions=made,
    )


def test_merging_keeps_identity_order_and_the_first_time() -> None:
    one = result(1)
    assert merge_results([one]) is one
    merged = merge_results([result(3), result(1), result(2)])
    assert (merged.author, merged.invocation_id, merged.branch, merged.timestamp) == ("a", "e-1", "b", 3.0)
    assert [r.id for r in merged.get_function_responses()] == ["c3", "c1", "c2"]
    assert merged.touched_actions is None


@settings(deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.integers()), min_size=2, max_size=5))
def test_merged_deltas_add_up_and_the_last_writer_wins(deltas: list[dict[str, int]]) -> None:
    expected: dict[str, int] = {}
    for delta in deltas:
        expected |= delta
    events = [result(n, state_delta=dict(delta)) for n, delta in enumerate(deltas)]
    assert merge_results(events).actions.state_delta == expected
    assert [event.actions.state_delta for event in events] == deltas


def test_every_action_is_merged() -> None:
    merged = merge_results(
        [
            result(1, transfer_to_agent="x", requested_auth_configs={"c1": 1}),
            result(2, escalate=True, requested_auth_configs={"c2": 2}, route="r"),
            result(3),
        ]
    )
    assert merged.actions == EventActions(
        transfer_to_agent="x", escalate=True, requested_auth_configs={"c1": 1, "c2": 2}, route="r"
    )


@pytest.mark.parametrize("slow", [0, 1])
def test_of_two_calls_that_write_one_key_the_last_wins_and_the_loser_is_named(
    talk: Any, call: Any, caplog: pytest.LogCaptureFixture, slow: int
) -> None:
    async def write(tool_context: Context, value: int) -> str:
        for _ in range(3 * (value == slow)):
            await asyncio.sleep(0)
        tool_context.state["cup"] = value
        tool_context.state["same"] = "for both"
        tool_context.state[f"own {value}"] = {"part": value}
        tool_context.state["parts"] = {f"of {value}": value}
        return "written"

    calls = [call("write", value=0), call("write", value=1)]
    conversation = talk(waiter(calls, "ok", tools=[write]))
    first, second = conversation.say("go")[1].get_function_responses()
    stored = asyncio.run(conversation.stored())
    own = {"own 0": {"part": 0}, "own 1": {"part": 1}}
    assert stored.state == {"cup": 1, "same": "for both", "parts": {"of 0": 0, "of 1": 1}, **own}
    (record,) = caplog.records
    warning = f"the state key 'cup' has the value of write ({second.id}); the concurrent write of write ({first.id}) "
    assert record.getMessage() == warning + "is lost"
