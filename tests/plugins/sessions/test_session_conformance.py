"""What every session store promises: the same calls give the same answers."""

from __future__ import annotations

import asyncio
import copy
import pickle
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from newel_kernel import (
    AlreadyExistsError,
    BaseSessionService,
    Event,
    EventActions,
    FencedError,
    GetSessionConfig,
    PairingError,
    Session,
    SessionError,
    SessionNotFoundError,
    StaleSessionError,
)
from newel_types import Content, FrozenError, FunctionCall, FunctionResponse, Part

OpenStore = Callable[[], AbstractAsyncContextManager[BaseSessionService]]
WHERE: dict[str, Any] = {"app_name": "app", "user_id": "u"}
AT: dict[str, Any] = {**WHERE, "session_id": "s"}


def said(text: str, author: str = "user", **fields: Any) -> Event:
    return Event(author=author, invocation_id="i", content=Content(role="user", parts=[Part(text=text)]), **fields)


def delta(**state: Any) -> Event:
    return Event(author="a", actions=EventActions(state_delta=state))


def texts(session: Session) -> list[str]:
    return [e.content.parts[0].text for e in session.events if e.content]  # type: ignore[index,misc]


def run(open_store: OpenStore, scenario: Callable[[BaseSessionService], Awaitable[None]]) -> None:
    async def go() -> None:
        async with open_store() as store:
            await scenario(store)

    asyncio.run(go())


async def stored(store: BaseSessionService, **where: str) -> Session:
    session = await store.get_session(**{**AT, **where})
    assert session is not None
    return session


async def live(store: BaseSessionService) -> Session:
    view = await store.open(**AT)
    assert view is not None
    return view


# --- the recorded scenarios of google-adk ----------------------------------------------------------


def test_events_are_filtered_by_number_and_time(open_store: OpenStore) -> None:
    async def scenario(store: BaseSessionService) -> None:
        session = await store.create_session(**AT)
        for i in range(5):
            await store.append_event(session, said(f"m{i}", timestamp=1000.0 + i))
        expected: list[tuple[dict[str, Any], list[str]]] = [
            ({"num_recent_events": 2}, ["m3", "m4"]),
            ({"num_recent_events": 0}, []),
            ({"num_recent_events": 9}, ["m0", "m1", "m2", "m3", "m4"]),
            ({"after_timestamp": 1003.0}, ["m3", "m4"]),
            ({"num_recent_events": 3, "after_timestamp": 1001.0}, ["m2", "m3", "m4"]),
            ({"num_recent_events": 3, "after_timestamp": 1004.0}, ["m4"]),
            ({}, ["m0", "m1", "m2", "m3", "m4"]),
        ]
        for config, wanted in expected:
            got = await store.get_session(**AT, config=GetSessionConfig(**config))
            opened = await store.open(**AT, config=GetSessionConfig(**config))
            assert got is not None
            assert opened is not None
            assert texts(got) == texts(opened) == wanted, config

    run(open_store, scenario)


def test_sessions_are_listed_without_events_and_deleted(open_store: OpenStore) -> None:
    async def scenario(store: BaseSessionService) -> None:
        for name in ("s1", "s2"):
            session = await store.create_session(**WHERE, session_id=name, state={"n": name})
            await store.append_event(session, said("x"))
        listed = (await store.list_sessions(**WHERE)).sessions
        assert [(s.id, len(s.events), s.state) for s in listed] == [("s1", 0, {"n": "s1"}), ("s2", 0, {"n": "s2"})]
        await store.delete_session(**WHERE, session_id="s1")
        await store.delete_session(**WHERE, session_id="never")
        assert await store.get_session(**WHERE, session_id="s1") is None
        assert await store.open(**WHERE, session_id="s1") is None
        assert [s.id for s in (await store.list_sessions(**WHERE)).sessions] == ["s2"]

    run(open_store, scenario)


def test_returned_sessions_are_copies(open_store: OpenStore) -> None:
    async def scenario(store: BaseSessionService) -> None:
        session = await store.create_session(**AT, state={"a": [1]})
        session.state["a"].append(2)
        session.state["b"] = 1
        session.events.append(said("not stored"))
        got = await stored(store)
        assert (got.state, got.events) == ({"a": [1]}, [])

    run(open_store, scenario)


def test_append_updates_the_view_and_the_store(open_store: OpenStore) -> None:
    async def scenario(store: BaseSessionService) -> None:
        session = await store.create_session(**AT)
        event = await store.append_event(session, delta(**{"a": 1, "temp:t": 2, "user:u": 3, "app:p": 4}))
        assert event.actions.state_delta == {"a": 1, "user:u": 3, "app:p": 4}
        assert session.state == {"a": 1, "temp:t": 2, "user:u": 3, "app:p": 4}
        assert len(session.events) == 1
        assert (await stored(store)).state == {"a": 1, "user:u": 3, "app:p": 4}

    run(open_store, scenario)


def test_a_session_id_is_unique_for_the_user(open_store: OpenStore) -> None:
    async def scenario(store: BaseSessionService) -> None:
        await store.create_session(**AT, state={"a": 1})
        with pytest.raises(AlreadyExistsError):
            await store.create_session(**AT, state={"b": 2, "app:c": 3})
        assert (await stored(store)).state == {"a": 1}
        await store.create_session(app_name="app", user_id="other", session_id="s")
        await store.create_session(app_name="other", user_id="u", session_id="s")

    run(open_store, scenario)


def test_a_partial_event_is_not_stored(open_store: OpenStore) -> None:
    async def scenario(store: BaseSessionService) -> None:
        session = await store.create_session(**AT)
        event = said("m", partial=True, actions=EventActions(state_delta={"a": 1}))
        assert await store.append_event(session, event) is event
        got = await stored(store)
        assert (session.events, session.state, got.events, got.state) == ([], {}, [], {})

    run(open_store, scenario)


# --- scopes and state ------------------------------------------------------------------------------


def test_scopes_are_shared_by_user_and_app(open_store: OpenStore) -> None:
    async def scenario(store: BaseSessionService) -> None:
        first = await store.create_session(**AT, state={"p": 1, "user:n": "Ada", "app:m": "dark", "temp:x": 1})
        assert first.state == {"p": 1, "user:n": "Ada", "app:m": "dark"}
        await store.append_event(first, delta(**{"user:n": "Bob", "app:k": 2}))
        same = await store.create_session(**WHERE, session_id="s2")
        other = await store.create_session(app_name="app", user_id="u2", session_id="s3")
        foreign = await store.create_session(app_name="app2", user_id="u", session_id="s4")
        assert same.state == {"user:n": "Bob", "app:m": "dark", "app:k": 2}
        assert other.state == {"app:m": "dark", "app:k": 2}
        assert foreign.state == {}
        await store.delete_session(**AT)
        assert (await stored(store, session_id="s2")).state == {"user:n": "Bob", "app:m": "dark", "app:k": 2}
        listed = (await store.list_sessions(app_name="app")).sessions
        assert [s.state.get("user:n") for s in listed] == ["Bob", None]

    run(open_store, scenario)


def test_none_removes_a_key_in_every_scope(open_store: OpenStore) -> None:
    async def scenario(store: BaseSessionService) -> None:
        session = await store.create_session(**AT, state={"a": 1, "user:u": 1, "app:p": 1})
        event = await store.append_event(session, delta(**{"a": None, "user:u": None, "app:p": None, "no": None}))
        assert session.state == {}
        assert (await stored(store)).state == {}
        assert event.actions.state_delta == {"a": None, "user:u": None, "app:p": None, "no": None}
        again = await stored(store)
        assert again.events[0].actions.state_delta == {"a": None, "user:u": None, "app:p": None, "no": None}

    run(open_store, scenario)


def test_an_initial_none_is_a_value_of_the_session_until_a_delta_removes_it(open_store: OpenStore) -> None:
    async def scenario(store: BaseSessionService) -> None:
        session = await store.create_session(**AT, state={"a": None, "user:u": None, "app:p": None})
        assert session.state == (await stored(store)).state == {"a": None}
        assert (await store.list_sessions(**WHERE)).sessions[0].state == {"a": None}
        await store.append_event(session, delta(a=None))
        assert session.state == (await stored(store)).state == {}

    run(open_store, scenario)


def test_a_value_is_replaced_and_not_merged(open_store: OpenStore) -> None:
    async def scenario(store: BaseSessionService) -> None:
        session = await store.create_session(**AT, state={"d": {"x": 1, "n": None}})
        assert (await stored(store)).state == {"d": {"x": 1, "n": None}}
        await store.append_event(session, delta(d={"y": [1, {"z": None}]}))
        assert (await stored(store)).state == {"d": {"y": [1, {"z": None}]}}

    run(open_store, scenario)


def test_a_change_in_place_changes_neither_store_nor_history(open_store: OpenStore) -> None:
    async def scenario(store: BaseSessionService) -> None:
        session = await store.create_session(**AT)
        event = await store.append_event(session, delta(items=[1]))
        session.state["items"].append(2)
        got = await stored(store)
        assert got.state == {"items": [1]}
        assert got.events[0].actions.state_delta == {"items": [1]}
        assert event.actions.state_delta == {"items": [1]}

    run(open_store, scenario)


def test_a_state_key_is_a_string(open_store: OpenStore) -> None:
    async def scenario(store: BaseSessionService) -> None:
        with pytest.raises(SessionError, match="state key 1 is int"):
            await store.create_session(**AT, state={1: "x"})
        session = await store.create_session(**AT)
        with pytest.raises(SessionError, match="state key 2 is int"):
            await store.append_event(session, Event(author="a", actions=EventActions(state_delta={2: "x"})))
        assert (session.state, session.events, session.version) == ({}, [], 0)

    run(open_store, scenario)


def test_names_are_data(open_store: OpenStore) -> None:
    async def scenario(store: BaseSessionService) -> None:
        for name in ("'; DROP TABLE sessions; --", '"', "%", "a\x00b", "é😀", " x", "null"):
            where = {"app_name": name, "user_id": name}
            session = await store.create_session(**where, session_id=f"{name}!", state={name: name, "user:" + name: 1})
            await store.append_event(session, said(name))
            got = await stored(store, **where, session_id=session.id)
            assert texts(got) == [name]
            assert got.state == {name: name, "user:" + name: 1}
            assert [s.id for s in (await store.list_sessions(**where)).sessions] == [session.id]
            await store.delete_session(**where, session_id=session.id)
            assert (await store.list_sessions(**where)).sessions == []

    run(open_store, scenario)


# --- ids, order, times -----------------------------------------------------------------------------


def test_ids_are_stripped_or_made(open_store: OpenStore) -> None:
    async def scenario(store: BaseSessionService) -> None:
        assert (await store.create_session(**WHERE, session_id="  s ")).id == "s"
        with pytest.raises(AlreadyExistsError):
            await store.create_session(**WHERE, session_id="s ")
        new_ids = [(await store.create_session(**WHERE, session_id=id_)).id for id_ in (None, "", "  ")]
        assert len(set(new_ids)) == 3
        assert all(new_ids)

    run(open_store, scenario)


def test_sessions_are_listed_by_user_and_creation(open_store: OpenStore) -> None:
    async def scenario(store: BaseSessionService) -> None:
        for user, name in (("b", "z"), ("a", "y"), ("b", "x"), ("a", "w"), ("b", "v")):
            await store.create_session(app_name="app", user_id=user, session_id=name)
        await store.delete_session(app_name="app", user_id="b", session_id="z")
        await store.create_session(app_name="app", user_id="b", session_id="z")
        listed = (await store.list_sessions(app_name="app")).sessions
        assert [(s.user_id, s.id) for s in listed] == [("a", "y"), ("a", "w"), ("b", "x"), ("b", "v"), ("b", "z")]
        assert [s.id for s in (await store.list_sessions(app_name="app", user_id="b")).sessions] == ["x", "v", "z"]
        assert (await store.list_sessions(app_name="none")).sessions == []
        assert (await store.list_sessions(app_name="app", user_id="none")).sessions == []

    run(open_store, scenario)


def test_order_is_append_order_whatever_the_clock_says(open_store: OpenStore) -> None:
    async def scenario(store: BaseSessionService) -> None:
        session = await store.create_session(**AT)
        for i, time in enumerate((30.0, 10.0, 20.0, 10.0)):
            await store.append_event(session, said(f"m{i}", timestamp=time))
        got = await stored(store)
        assert texts(got) == ["m0", "m1", "m2", "m3"]
        assert got.last_update_time == session.last_update_time == 10.0

    run(open_store, scenario)


def test_concurrent_appends_are_stored_in_call_order(open_store: OpenStore) -> None:
    async def scenario(store: BaseSessionService) -> None:
        session = await store.create_session(**AT)
        await asyncio.gather(*(store.append_event(session, said(f"m{i}", state={"n": i})) for i in range(50)))
        wanted = [f"m{i}" for i in range(50)]
        assert texts(session) == texts(await stored(store)) == wanted
        assert session.state == (await stored(store)).state == {"n": 49}
        assert session.version == 50

    run(open_store, scenario)


def test_an_event_keeps_everything(open_store: OpenStore) -> None:
    async def scenario(store: BaseSessionService) -> None:
        session = await store.create_session(**AT)
        call = FunctionCall(id="c", name="f", args={"a": [1, None, {"b": "ü"}]})
        event = Event.model_validate(
            {
                "author": "a",
                "invocationId": "i",
                "branch": "a.b",
                "longRunningToolIds": ["c"],
                "unknownField": {"x": 1},
                "content": {
                    "role": "model",
                    "parts": [
                        {"functionCall": call.model_dump(by_alias=True, exclude_none=True)},
                        {"inlineData": {"data": "AP8=", "mimeType": "image/png"}},
                        {"text": "t", "thoughtSignature": "AP8="},
                    ],
                },
                "actions": {
                    "artifactDelta": {"f": 1},
                    "agentState": {},
                    "route": "left",
                    "newAction": 1,
                    "requestedToolConfirmations": {"c": {"hint": "sure?"}},
                },
                "usageMetadata": {"totalTokenCount": 3},
                "finishReason": "STOP",
                "customMetadata": {"k": None},
            }
        )
        before = event.model_dump(mode="json", by_alias=True)
        await store.append_event(session, event)
        assert (await stored(store)).events[0].model_dump(mode="json", by_alias=True) == before
        assert before["unknownField"] == {"x": 1}
        assert before["actions"]["newAction"] == 1

    run(open_store, scenario)


# --- live views, copies, stale copies --------------------------------------------------------------


def test_a_live_view_sees_what_is_appended_elsewhere(open_store: OpenStore) -> None:
    async def scenario(store: BaseSessionService) -> None:
        await store.create_session(**AT)
        view = await live(store)
        other = await stored(store)
        await store.append_event(other, said("elsewhere", state={"k": 1, "user:n": 2}))
        assert texts(view) == ["elsewhere"]
        await store.append_event(view, said("here"))
        assert view.state == {"k": 1, "user:n": 2}
        assert texts(await live(store)) == texts(view) == ["elsewhere", "here"]
        assert view.version == 2

    run(open_store, scenario)


def test_views_of_one_session_share_a_cache(open_store: OpenStore) -> None:
    async def scenario(store: BaseSessionService) -> None:
        await store.create_session(**AT)
        first, second = await live(store), await live(store)
        assert first.cache is not None
        assert first.cache is second.cache
        assert first.state is not second.state
        assert (await stored(store)).cache is None

    run(open_store, scenario)


def test_an_append_through_a_stale_copy_catches_it_up_first(open_store: OpenStore) -> None:
    async def scenario(store: BaseSessionService) -> None:
        first = await store.create_session(**AT)
        second = await stored(store)
        await store.append_event(first, said("one", state={"a": 1, "b": 1}))
        await store.append_event(first, said("two", state={"b": None}))
        await store.append_event(second, said("three", state={"a": 3}))
        await store.append_event(first, said("four"))
        for session in (first, second, await stored(store)):
            assert texts(session)[:3] == ["one", "two", "three"]
            assert session.state == {"a": 3}
        assert texts(first) == texts(await stored(store)) == ["one", "two", "three", "four"]
        assert (first.version, second.version) == (4, 3)

    run(open_store, scenario)


def test_a_copy_with_some_of_the_events_gets_the_new_ones_only(open_store: OpenStore) -> None:
    async def scenario(store: BaseSessionService) -> None:
        session = await store.create_session(**AT)
        for text in ("one", "two", "three"):
            await store.append_event(session, said(text))
        partly = await store.get_session(**AT, config=GetSessionConfig(num_recent_events=1))
        listed = (await store.list_sessions(**WHERE)).sessions[0]
        read_back = Session.model_validate_json(session.model_dump_json())
        assert partly is not None
        await store.append_event(session, said("four"))
        for copied in (partly, listed, read_back):
            await store.append_event(copied, said("more"))
        assert texts(partly) == ["three", "four", "more"]
        assert texts(listed) == ["four", "more", "more"]
        assert texts(read_back) == ["one", "two", "three", "four", "more", "more", "more"]

    run(open_store, scenario)


def test_copies_of_a_session_object_can_be_appended_through(open_store: OpenStore) -> None:
    async def scenario(store: BaseSessionService) -> None:
        await store.create_session(**AT, state={"a": [1]})
        view = await live(store)
        await store.append_event(view, said("one"))
        copies = [view.model_copy(), copy.copy(view), copy.deepcopy(view), pickle.loads(pickle.dumps(view))]
        for i, copied in enumerate(copies):
            assert type(copied.events) is list
            await store.append_event(copied, said(f"c{i}"))
        assert texts(copies[-1]) == texts(await stored(store)) == ["one", "c0", "c1", "c2", "c3"]

    run(open_store, scenario)


def test_the_events_of_a_live_view_grow_by_append_only(open_store: OpenStore) -> None:
    async def scenario(store: BaseSessionService) -> None:
        session = await store.create_session(**AT)
        await store.append_event(session, said("one"))
        view = await live(store)
        with pytest.raises(FrozenError, match="append_event"):
            view.events.append(said("two"))
        with pytest.raises(FrozenError):
            del view.events[0]
        with pytest.raises(FrozenError):
            view.events += [said("two")]
        with pytest.raises(FrozenError):
            view.events[0].author = "x"
        assert texts(await stored(store)) == ["one"]

    run(open_store, scenario)


def test_an_event_can_be_appended_to_another_session_too(open_store: OpenStore) -> None:
    async def scenario(store: BaseSessionService) -> None:
        first = await store.create_session(**AT)
        second = await store.create_session(**WHERE, session_id="s2")
        event = await store.append_event(first, said("one", state={"a": 1, "temp:b": 2}))
        await store.append_event(second, event)
        got = await stored(store, session_id="s2")
        assert (texts(got), got.state) == (["one"], {"a": 1})

    run(open_store, scenario)


# --- refusals --------------------------------------------------------------------------------------


def test_a_result_needs_its_call(open_store: OpenStore) -> None:
    async def scenario(store: BaseSessionService) -> None:
        def part(kind: Any, author: str = "a") -> Event:
            return Event(author=author, content=Content(role="user", parts=[kind]))

        call = Part(function_call=FunctionCall(id="c1", name="f", args={}))
        answer = Part(function_response=FunctionResponse(id="c1", name="f", response={}))
        session = await store.create_session(**AT)
        with pytest.raises(PairingError, match="c1"):
            await store.append_event(session, part(answer))
        assert (session.events, session.version) == ([], 0)
        await asyncio.gather(store.append_event(session, part(call)), store.append_event(session, part(answer)))
        with pytest.raises(PairingError):
            await store.append_event(session, part(Part(function_response=FunctionResponse(id="c2", name="f"))))
        await store.append_event(session, part(answer, "user"))
        assert len((await stored(store)).events) == 3

    run(open_store, scenario)


def test_an_append_to_a_deleted_session_is_refused(open_store: OpenStore) -> None:
    async def scenario(store: BaseSessionService) -> None:
        await store.create_session(**AT)
        view, copied = await live(store), await stored(store)
        await store.append_event(view, said("one"))
        await store.delete_session(**AT)
        for session in (view, copied, Session(id="never", app_name="app", user_id="u")):
            with pytest.raises(SessionNotFoundError):
                await store.append_event(session, said("lost"))
        anew = await store.create_session(**AT)
        for text in ("new", "newer"):
            for session in (view, copied, view.model_copy(), pickle.loads(pickle.dumps(copied))):
                with pytest.raises(SessionNotFoundError, match="another session has its id now"):
                    await store.append_event(session, said("lost"))
            await store.append_event(anew, said(text))
        read_back = Session.model_validate_json(view.model_dump_json())  # nobody knows which one it was
        await store.append_event(read_back, said("newest"))
        assert texts(await stored(store)) == ["new", "newer", "newest"]
        read_back.version = 7
        with pytest.raises(StaleSessionError, match="created again"):
            await store.append_event(read_back, said("lost"))

    run(open_store, scenario)


def test_a_view_without_the_lease_is_fenced(open_store: OpenStore) -> None:
    async def scenario(store: BaseSessionService) -> None:
        session = await store.create_session(**AT)
        session.lease = 7
        with pytest.raises(FencedError, match="stop"):
            await store.append_event(session, said("x"))
        assert session.events == (await stored(store)).events == []
        assert (await stored(store)).lease == 0

    run(open_store, scenario)


def test_a_cancelled_append_leaves_view_and_store_alike(open_store: OpenStore) -> None:
    async def scenario(store: BaseSessionService) -> None:
        session = await store.create_session(**AT)
        for wait in (0, 1, 2, 3):
            task = asyncio.ensure_future(store.append_event(session, said(f"m{wait}", state={"n": wait})))
            for _ in range(wait):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            got = await stored(store)
            assert texts(session) == texts(got)
            assert session.state == got.state
        await store.append_event(session, said("after"))
        assert texts(session) == texts(await stored(store))
        assert texts(session)[-1] == "after"

    run(open_store, scenario)


def test_no_error_repeats_a_long_id(open_store: OpenStore) -> None:
    long = {**WHERE, "session_id": "s" * 800}

    async def scenario(store: BaseSessionService) -> None:
        await store.create_session(**long)
        gone = await stored(store, **long)
        result = Part(function_response=FunctionResponse(id="c" * 1_000_000, name="f", response={}))
        messages: list[str] = []

        async def fails(writing: Awaitable[Any]) -> None:
            with pytest.raises(SessionError) as caught:
                await writing
            messages.append(str(caught.value))

        await fails(store.create_session(**long))
        await fails(store.create_session(**{**long, "session_id": "t" * 800}, state={1: 1}))
        await fails(store.create_session(**{**long, "session_id": "é" * 401}))
        await fails(store.create_session(**AT, state={"é" * 401: 1}))
        await fails(store.append_event(gone, Event(author="a", content=Content(role="user", parts=[result]))))
        await store.delete_session(**long)
        await fails(store.append_event(gone, said("x")))
        assert [len(message) < 500 for message in messages] == [True] * 6
        assert "ssss... (800 characters)" in messages[0]
        assert "802 bytes, more than 800" in messages[2]
        assert "802 bytes, more than 800" in messages[3]
        assert await store.get_session(**AT) is None

    run(open_store, scenario)


def test_an_event_id_is_stored_once(open_store: OpenStore) -> None:
    async def scenario(store: BaseSessionService) -> None:
        session = await store.create_session(**AT)
        await store.append_event(session, said("one", id="same"))
        again = [store.append_event(session, said(f"{n}", id="same", state={"n": n})) for n in range(2)]
        twice = [store.append_event(session, said("two", id="new")) for _ in range(2)]
        results = await asyncio.gather(*again, *twice, return_exceptions=True)
        assert [isinstance(result, AlreadyExistsError) for result in results] == [True, True, False, True]
        assert texts(session) == texts(await stored(store)) == ["one", "two"]
        assert session.state == {}
        other = await store.create_session(**WHERE, session_id="t")
        await store.append_event(other, said("one", id="same"))  # of another session

    run(open_store, scenario)
