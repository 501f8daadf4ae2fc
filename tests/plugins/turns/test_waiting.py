"""Waiting: which open calls of a log hold up the run of an agent, by scope, branch and answer."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest

from newel.agents import BaseAgent
from newel.contexts.invocation_context import InvocationContext
from newel.turns.pauses import pauses, waits
from newel_compose import Composition, compose
from newel_kernel import Event, RunConfig, Session
from newel_kernel import InvocationContext as KernelInvocationContext
from newel_types import Content, FunctionCall, FunctionResponse, Part

composition = cache(lambda: compose("standard"))


def run_of(events: list[Event], *, branch: str | None = None, scope: str | None = None, **fields: Any) -> Any:
    """The context of a run in the invocation ``e-1``, in an app that is resumable."""
    made: Composition = composition()
    store: Any = None
    session = Session(id="s", app_name="app", user_id="ada", events=events)
    resumability = SimpleNamespace(is_resumable=fields.pop("resumable", True))
    ctx = InvocationContext(
        store,
        session,
        BaseAgent(name="clerk"),
        made,
        RunConfig(),
        "e-1",
        branch=branch,
        resumability_config=resumability,
    )
    return ctx.model_copy(update={"isolation_scope": scope, **fields})


def calls(*ids: str, waiting: bool = True, **where: Any) -> Event:
    parts = [Part(function_call=FunctionCall(id=one, name="ship", args={})) for one in ids]
    fields = {"author": "clerk", "invocation_id": "e-1", "long_running_tool_ids": set(ids) if waiting else None}
    return Event(**{**fields, **where}, content=Content(role="model", parts=parts))


def results(*ids: str, author: str = "user", provisional: bool = False, **where: Any) -> Event:
    parts = [Part(function_response=FunctionResponse(id=one, name="ship", response={})) for one in ids]
    event = Event(**{"invocation_id": "e-1", **where}, author=author, content=Content(role="user", parts=parts))
    event.custom_metadata = {"newel.provisional": True} if provisional else None
    return event


def words(author: str, **where: Any) -> Event:
    return Event(**{"invocation_id": "e-1", **where}, author=author, message="words")


@pytest.mark.parametrize(
    ("events", "held_up"),
    [
        ([], False),
        ([words("user"), words("clerk")], False),
        ([calls("a", waiting=False)], False),
        ([calls("a")], True),
        ([calls("a"), words("clerk")], True),
        ([calls("a"), results("a")], False),
        ([calls("a"), results("other")], True),
        ([calls("a", "b"), results("a")], True),
        ([calls("a", "b"), results("a"), results("b")], False),
        ([calls("a"), calls("b"), results("b")], True),
        ([calls("a"), words("user")], False),
        ([calls("a"), words("user"), calls("b")], True),
        ([calls("a"), words("user"), results("b")], False),
        ([calls("a"), results("a", author="clerk")], True),
        ([calls("a", invocation_id="e-0"), words("user")], False),
        ([calls("a", invocation_id="e-0"), words("user"), words("clerk")], False),
    ],
)
def test_a_long_running_call_holds_up_the_run_until_the_user_answers_or_says_something_else(
    events: list[Event], held_up: bool
) -> None:
    assert waits(run_of(events)) is held_up
    assert pauses(run_of(events)) is held_up


def test_nothing_holds_up_a_run_that_cannot_be_resumed() -> None:
    ctx = run_of([calls("a")], resumable=False)
    assert not waits(ctx)
    assert not pauses(ctx)


OPENS = calls("c1", waiting=False, isolation_scope="mine")


@pytest.mark.parametrize(
    ("events", "held_up"),
    [
        ([calls("a", isolation_scope="mine")], True),
        ([calls("a")], False),
        ([calls("a", isolation_scope="theirs")], False),
        ([calls("a", isolation_scope="theirs"), calls("b", isolation_scope="mine")], True),
        ([calls("a", isolation_scope="mine"), results("a", isolation_scope="mine")], False),
        # What runs within the run is in the scope of one of its calls.
        ([OPENS, calls("a", isolation_scope="c1")], True),
        ([OPENS, calls("c2", waiting=False, isolation_scope="c1"), calls("a", isolation_scope="c2")], True),
        ([calls("c1", waiting=False), calls("a", isolation_scope="c1")], False),
        ([calls("c1", waiting=False, isolation_scope="theirs"), calls("a", isolation_scope="c1")], False),
        ([calls("a", isolation_scope="c1"), OPENS], False),
    ],
)
def test_in_a_scope_only_its_own_calls_and_those_within_hold_up_the_run(events: list[Event], held_up: bool) -> None:
    assert waits(run_of(events, scope="mine")) is held_up


def test_without_a_scope_the_calls_of_all_that_runs_within_hold_up_the_run() -> None:
    assert waits(run_of([calls("a", isolation_scope="c1")]))
    assert not waits(run_of([calls("a", isolation_scope="c1"), results("a", isolation_scope="c1")]))


@pytest.mark.parametrize(
    ("branch", "of_call", "held_up"),
    [
        (None, None, True),
        (None, "all.one", True),
        ("all", "all", True),
        ("all", "all.one", True),
        ("all", "all.one.within", True),
        ("all", "allround", False),
        ("all.one", "all", False),
        ("all.one", "all.two", False),
        ("all.one", None, False),
    ],
)
def test_on_a_branch_only_its_calls_and_those_below_hold_up_the_run(
    branch: str | None, of_call: str | None, held_up: bool
) -> None:
    assert waits(run_of([calls("a", branch=of_call)], branch=branch)) is held_up
    assert waits(run_of([calls("a", branch=of_call, isolation_scope="s")], branch=branch, scope="s")) is held_up


@pytest.mark.parametrize(
    ("events", "held_up"),
    [
        ([calls("a")], True),
        ([calls("a"), results("a", author="clerk")], False),
        ([calls("a"), results("a", author="clerk", provisional=True)], True),
        ([calls("a", "b"), results("a", author="clerk")], True),
        ([calls("a", branch="all.one"), results("a", author="clerk", branch="elsewhere")], True),
    ],
)
def test_in_a_graph_a_first_result_is_enough(events: list[Event], held_up: bool) -> None:
    branch = events[0].branch
    assert waits(run_of(events, branch=branch, takes_first_results=True)) is held_up
    assert waits(run_of(events, branch=branch))


def talks(**where: Any) -> Event:
    event = words("node", isolation_scope="flow/node", **where)
    event.node_info.path = "flow/node"
    return event


@pytest.mark.parametrize(
    ("events", "branch", "held_up"),
    [
        ([talks()], None, True),
        ([talks(branch="flow.node")], None, True),
        ([talks(branch="flow")], "flow", True),
        ([talks(branch="flow.node")], "flow", True),
        ([talks(branch="flowers")], "flow", False),
        ([talks(branch="other")], "flow", False),
        ([talks()], "flow", False),
        ([talks(invocation_id="e-0")], None, False),
        ([words("node")], None, False),
    ],
)
def test_a_graph_s_node_in_conversation_pauses_what_runs_it(
    events: list[Event], branch: str | None, held_up: bool
) -> None:
    ctx = run_of(events, branch=branch)
    assert not waits(ctx)
    assert pauses(ctx) is held_up


def test_a_task_is_not_paused_by_the_node_that_it_works_for() -> None:
    assert not pauses(run_of([talks()], scope="c1"))


def test_only_newel_s_own_runner_pauses() -> None:
    store: Any = None
    ctx = KernelInvocationContext(store, Session(id="s"), BaseAgent(name="clerk"), composition(), RunConfig())
    with pytest.raises(TypeError, match="needs an invocation"):
        pauses(ctx)
