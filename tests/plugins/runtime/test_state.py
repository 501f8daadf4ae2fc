"""State and Session: scopes, deltas, and None that removes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newel.agents import LlmAgent
from newel.sessions import InMemorySessionService
from newel.sessions.pairing import check_pairing
from newel.sessions.scopes import merge_scopes, split_by_scope
from newel.testing import ScriptedModel
from newel_kernel import (
    BaseAgent,
    BaseSessionService,
    Context,
    Event,
    EventActions,
    GetSessionConfig,
    PairingError,
    RunConfig,
    Session,
    State,
    apply_delta,
)
from newel_types import Content, FunctionCall, FunctionResponse, Part

KEYS = st.sampled_from(["a", "b", "app:a", "user:a", "temp:a"])
VALUES = st.one_of(st.none(), st.integers(), st.lists(st.integers()))


class TestState:
    def test_a_write_is_seen_at_once_and_recorded(self) -> None:
        live: dict[str, Any] = {"old": 1}
        delta: dict[str, Any] = {}
        state = State(live, delta)
        state["new"] = 2
        assert (state["new"], live["new"], delta) == (2, 2, {"new": 2})
        assert state.to_dict() == {"old": 1, "new": 2}
        assert state.has_delta()

    def test_none_removes(self) -> None:
        live: dict[str, Any] = {"x": 1, "y": 2}
        state = State(live, {})
        state["x"] = None
        del state["y"]
        assert live == {}
        assert "x" not in state
        assert state.get("y", "gone") == "gone"
        assert len(state) == 0
        for key in ("x", "never"):
            with pytest.raises(KeyError, match=key):
                state[key]
            with pytest.raises(KeyError, match=key):
                del state[key]

    def test_a_delta_of_none_hides_what_is_stored(self) -> None:
        state = State({"x": 1, "y": 1}, {"x": None, "y": 2})
        assert "x" not in state
        assert dict(state) == {"y": 2}
        with pytest.raises(KeyError, match="x"):
            state["x"]

    def test_the_methods_of_a_mapping_record_too(self) -> None:
        delta: dict[str, Any] = {}
        state = State({"a": 1, "b": 2}, delta)
        state.update({"c": 3}, d=4)
        assert state.pop("a") == 1
        assert state.pop("missing", 7) == 7
        assert state.setdefault("b", 9) == 2
        assert state.setdefault("e", 5) == 5
        assert sorted(state) == ["b", "c", "d", "e"]
        assert delta == {"a": None, "c": 3, "d": 4, "e": 5}
        state.clear()
        assert dict(state) == {}

    @settings(deadline=None)
    @given(st.lists(st.tuples(KEYS, VALUES)))
    def test_what_is_seen_is_what_the_delta_makes_of_the_start(self, writes: list[tuple[str, Any]]) -> None:
        start = {"a": 0, "app:a": 0}
        live, delta = dict(start), dict[str, Any]()
        state = State(live, delta)
        for key, value in writes:
            state[key] = value
        apply_delta(start, delta)
        assert dict(state) == start == live


class TestScopes:
    def test_prefixes_say_where_a_value_is_kept(self) -> None:
        delta = {"app:x": 1, "user:x": 2, "x": 3, "temp:x": 4, "application": 5}
        assert split_by_scope(delta) == ({"x": 1}, {"x": 2}, {"x": 3, "application": 5})
        assert merge_scopes({"x": 1}, {"x": 2}, {"x": 3}) == {"app:x": 1, "user:x": 2, "x": 3}

    @settings(deadline=None)
    @given(st.dictionaries(KEYS, VALUES))
    def test_splitting_and_merging_lose_only_what_is_temporary(self, delta: dict[str, Any]) -> None:
        kept = {key: value for key, value in delta.items() if not key.startswith("temp:")}
        assert merge_scopes(*split_by_scope(delta)) == kept

    def test_none_removes_in_a_delta(self) -> None:
        state = {"x": 1, "y": 2}
        apply_delta(state, {"x": None, "z": 3, "never": None})
        assert state == {"y": 2, "z": 3}


class TestInATurn:
    """What tools and callbacks write, as the store and the next reader see it."""

    def test_each_scope_reaches_those_it_is_for(self, talk: Any) -> None:
        def write(callback_context: Context) -> None:
            callback_context.state.update({"app:a": 1, "user:u": 2, "s": 3, "temp:t": 4})

        service = InMemorySessionService()
        agent = LlmAgent(name="waiter", model=ScriptedModel(["ok"]), before_agent_callback=write)
        events = talk(agent, service=service).say("tea")
        assert events[0].actions.state_delta == {"app:a": 1, "user:u": 2, "s": 3}  # temp: is trimmed

        async def read(user: str, session: str) -> dict[str, Any]:
            where = {"app_name": "tearoom", "user_id": user, "session_id": session}
            found = await service.get_session(**where) or await service.create_session(**where)
            return found.state

        assert asyncio.run(read("ada", "s1")) == {"app:a": 1, "user:u": 2, "s": 3}
        assert asyncio.run(read("ada", "s2")) == {"app:a": 1, "user:u": 2}
        assert asyncio.run(read("bob", "s3")) == {"app:a": 1}

    def test_temporary_values_last_as_long_as_the_invocation(self, talk: Any, call: Any) -> None:
        def write(callback_context: Context) -> None:
            if "temp:t" not in callback_context.state:
                callback_context.state["temp:t"] = callback_context.invocation_id

        def read(tool_context: Context) -> Any:
            return tool_context.state["temp:t"]

        model = ScriptedModel([call("read"), "one", call("read"), "two"])
        agent = LlmAgent(name="waiter", model=model, tools=[read], before_agent_callback=write)
        conversation = talk(agent)
        for _ in range(2):
            (result,) = conversation.say("tea")[-2].get_function_responses()
            assert result.response == {"result": conversation.session.events[-1].invocation_id}
        assert conversation.session.state == {}

    def test_none_removes_in_the_live_session_and_in_the_store(self, talk: Any, call: Any) -> None:
        seen: list[Any] = []

        def forget(tool_context: Context) -> str:
            tool_context.state["x"] = None
            seen.append("x" in tool_context.state)
            return "done"

        def look(tool_context: Context) -> str:
            seen.append(dict(tool_context.session.state))
            return "done"

        model = ScriptedModel([call("forget"), call("look"), "ok"])
        conversation = talk(LlmAgent(name="waiter", model=model, tools=[forget, look]))
        events = conversation.say("tea", state_delta={"x": 1, "y": 2})
        assert seen == [False, {"y": 2}]
        assert next(e.actions.state_delta for e in events if e.get_function_responses()) == {"x": None}
        assert conversation.session.state == {"y": 2}

    def test_an_agent_sees_what_it_committed_when_it_goes_on(self, talk: Any) -> None:
        class Counting(BaseAgent):
            async def _run_async_impl(self, ctx: Any) -> Any:
                for number in range(3):
                    yield Event(author=self.name, actions=EventActions(state_delta={"n": number, "temp:n": number}))
                    assert ctx.session.state == {"n": number, "temp:n": number}

        assert len(talk(Counting(name="counter")).say("go")) == 3

    def test_later_changes_of_a_written_value_change_nothing_in_the_view(self, talk: Any, call: Any) -> None:
        kept: list[int] = []

        def write(tool_context: Context) -> str:
            tool_context.state["items"] = kept
            return "done"

        def grow(tool_context: Context) -> int:
            kept.append(1)
            return len(tool_context.state["items"])

        model = ScriptedModel([call("write"), call("grow"), "ok"])
        events = talk(LlmAgent(name="waiter", model=model, tools=[write, grow])).say("tea")
        assert events[-2].get_function_responses()[0].response == {"result": 0}


class TestSession:
    def test_its_version_counts_the_events_it_has_seen(self) -> None:
        session = Session(id="s", events=[Event(author="a"), Event(author="b")])
        assert (session.version, session.lease, session.cache) == (2, 0, None)
        assert session.session_id == "s"

    def test_a_copy_has_a_list_of_its_own(self) -> None:
        session = Session(id="s", events=[Event(author="a")], state={"x": [1]})
        session.version, session.lease = 7, 3
        for copied in (session.model_copy(), session.model_copy(deep=True)):
            copied.events.append(Event(author="b"))
            assert (copied.version, copied.lease, copied.cache) == (7, 3, None)
        deep = session.model_copy(deep=True)
        deep.state["x"].append(2)
        assert len(session.events) == 1
        assert session.state == {"x": [1]}

    def test_json_shows_neither_version_nor_cache(self) -> None:
        session = Session(id="s", app_name="a", user_id="u", events=[Event(author="a")])
        session.cache = {"big": object()}
        back = Session.model_validate_json(session.model_dump_json(by_alias=True))
        assert back == session
        assert set(session.model_dump(by_alias=True)) == {
            "id",
            "appName",
            "userId",
            "state",
            "events",
            "lastUpdateTime",
        }

    @pytest.mark.parametrize(
        ("config", "kept"),
        [
            (GetSessionConfig(), [0, 1, 2, 3]),
            (GetSessionConfig(num_recent_events=2), [2, 3]),
            (GetSessionConfig(num_recent_events=0), []),
            (GetSessionConfig(num_recent_events=9), [0, 1, 2, 3]),
            (GetSessionConfig(after_timestamp=2.0), [2, 3]),
            (GetSessionConfig(num_recent_events=3, after_timestamp=3.0), [3]),
        ],
    )
    def test_a_reader_may_ask_for_the_latest_events_only(self, config: GetSessionConfig, kept: list[int]) -> None:
        events = [Event(author="a", timestamp=float(n)) for n in range(4)]
        assert [int(event.timestamp) for event in config.select(events)] == kept


class Plain(BaseSessionService):
    """A store that leaves applying to the base class."""

    def __init__(self) -> None:
        self.session = Session(id="s1", app_name="tearoom", user_id="ada")
        self.read: list[Any] = []

    async def create_session(self, **where: Any) -> Session:
        return self.session

    async def get_session(self, **where: Any) -> Session | None:
        self.read.append(where)
        return self.session

    async def list_sessions(self, **where: Any) -> Any:
        raise NotImplementedError

    async def delete_session(self, **where: Any) -> None:
        raise NotImplementedError


class TestTheBaseOfAStore:
    def test_it_applies_freezes_and_counts(self) -> None:
        store = Plain()
        event = Event(author="a", timestamp=9.0, actions=EventActions(state_delta={"x": [1], "temp:t": 1, "y": None}))
        asyncio.run(store.append_event(store.session, event))
        assert store.session.state == {"x": [1], "temp:t": 1}
        assert store.session.events == [event]
        assert (store.session.version, store.session.last_update_time) == (1, 9.0)
        assert event.actions.state_delta == {"x": [1], "y": None}
        event.actions.state_delta["x"].append(2)
        assert store.session.state["x"] == [1]

    def test_it_leaves_partial_events_alone(self) -> None:
        store = Plain()
        event = Event(author="a", partial=True, actions=EventActions(state_delta={"x": 1}))
        assert asyncio.run(store.append_event(store.session, event)) is event
        assert (store.session.events, store.session.state) == ([], {})
        event.author = "b"  # not frozen

    def test_a_runner_works_with_such_a_store(self, talk: Callable[..., Any]) -> None:
        service = Plain()
        latest = GetSessionConfig(num_recent_events=5)
        conversation = talk(LlmAgent(name="waiter", model=ScriptedModel(["ok"])), service=service)
        events = conversation.say("tea", run_config=RunConfig(get_session_config=latest))
        assert service.read == [{"app_name": "tearoom", "user_id": "ada", "session_id": "s1", "config": latest}]
        assert [event.author for event in service.session.events] == ["user", "waiter"]
        assert events == service.session.events[1:]


def test_a_result_without_its_call_is_refused() -> None:
    def made(part: Part, author: str = "a") -> Event:
        return Event(author=author, content=Content(parts=[part]), id="e1")

    called = made(Part(function_call=FunctionCall(name="brew", id="c1")))
    answer = made(Part(function_response=FunctionResponse(name="brew", id="c1", response={})))
    check_pairing([called], answer)
    check_pairing([called, made(Part(text="between"))], answer)
    check_pairing([], made(Part(text="nothing")))
    check_pairing([], made(Part(function_response=FunctionResponse(name="brew", id="c9", response={})), "user"))
    check_pairing([], made(Part(function_response=FunctionResponse(name="brew", response={}))))
    with pytest.raises(PairingError, match=r"event e1 of 'a' answers unknown call\(s\) \['c1'\]"):
        check_pairing([made(Part(text="x"))], answer)
