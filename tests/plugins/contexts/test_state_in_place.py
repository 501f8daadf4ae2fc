"""What code changes in place in the state is stored as if it had been assigned: for tools, callbacks and nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newel.agents import LlmAgent
from newel.runners import Runner
from newel.sessions import BaseSessionService, InMemorySessionService
from newel.sessions.sqlite import SqliteSessionService
from newel.testing import ScriptedModel
from newel.workflow import Workflow, node
from newel_kernel import Context, State
from newel_types import FunctionCall, deep_copy

WHERE = {"app_name": "a", "user_id": "u", "session_id": "s"}
START = {"cart": [1], "prefs": {"size": {"shoe": 42}}, "user:seen": [], "n": 1}


def change(state: Any) -> None:
    state["cart"].append(2)
    state["prefs"]["size"]["hat"] = 57
    state.get("user:seen").append("x")


def _tool() -> Any:
    def put(tool_context: Context) -> str:
        """Put."""
        change(tool_context.state)
        return "ok"

    return LlmAgent(name="a", model=ScriptedModel([FunctionCall(name="put", args={}), "done"]), tools=[put])


def _callback(name: str) -> Callable[[], Any]:
    def callback(callback_context: Context, **_: object) -> None:
        change(callback_context.state)

    return lambda: LlmAgent(name="a", model=ScriptedModel(["done"]), **{name: callback})  # type: ignore[arg-type]


def _node() -> Any:
    async def put(ctx: Context) -> str:
        change(ctx.state)
        return "ok"

    return Workflow(name="w", edges=[("START", node(put, name="put"))])


WAYS: dict[str, Callable[[], Any]] = {
    "tool": _tool,
    "before_agent": _callback("before_agent_callback"),
    "after_agent": _callback("after_agent_callback"),
    "before_model": _callback("before_model_callback"),
    "after_model": _callback("after_model_callback"),
    "node": _node,
}


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize("distribution", ["standard", "adk"])
@pytest.mark.parametrize("way", WAYS)
def test_a_change_in_place_is_stored(way: str, distribution: str, kind: str, tmp_path: Path) -> None:
    async def run() -> dict[str, Any]:
        path = str(tmp_path / "s.db")
        store: BaseSessionService = InMemorySessionService() if kind == "memory" else SqliteSessionService(path)
        await store.create_session(**WHERE, state=deep_copy(START))
        runner = Runner(app_name="a", node=WAYS[way](), session_service=store, distribution=distribution)
        async for _ in runner.run_async(user_id="u", session_id="s", new_message="go"):
            pass
        if isinstance(store, SqliteSessionService):
            await store.close()
            store = SqliteSessionService(path)
        session = await store.get_session(**WHERE)
        assert session is not None
        if isinstance(store, SqliteSessionService):
            await store.close()
        return dict(session.state)

    assert asyncio.run(run()) == {
        "cart": [1, 2],
        "prefs": {"size": {"shoe": 42, "hat": 57}},
        "user:seen": ["x"],
        "n": 1,
    }


JSON = st.recursive(
    st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from("abc"), JSON), st.lists(st.tuples(st.sampled_from("abc"), JSON), max_size=8))
def test_a_delta_holds_what_changed_and_nothing_else(start: dict[str, Any], steps: list[tuple[str, Any]]) -> None:
    live, delta = deep_copy(start), {}
    state = State(live, delta)
    for key, value in steps:
        current = state.get(key)
        if isinstance(current, list):
            current.append(value)
        elif isinstance(current, dict):
            current["k"] = value
        else:
            state[key] = value
    state.keep_changes()
    for key, value in live.items():
        assert (key in delta) == (key not in start or value != start[key] or any(key == one for one, _ in steps))
        assert delta.get(key, start.get(key)) == value


def test_what_was_only_read_is_not_written() -> None:
    delta: dict[str, Any] = {}
    state = State({"cart": [1], "prefs": {}}, delta)
    assert state["cart"] == [1]
    assert list(state.values()) == [[1], {}]
    state.keep_changes()
    assert delta == {}


def test_a_value_that_was_replaced_meanwhile_stays_replaced() -> None:
    delta: dict[str, Any] = {}
    state = State({"cart": [1]}, delta)
    old = state["cart"]
    state["cart"] = [7]
    old.append(2)
    state.keep_changes()
    assert delta == {"cart": [7]}
    del state["cart"]
    state.keep_changes()
    assert delta == {"cart": None}
