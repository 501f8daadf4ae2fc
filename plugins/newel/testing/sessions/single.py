"""Checks of one service: what is stored, in which order, and what is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from itertools import count
from typing import Any

from newel.testing.interruptions import cancelled_at_each_await
from newel.testing.sessions.place import Place, refused, reread, same, text_event, texts, wrote
from newel_kernel import (
    AlreadyExistsError,
    Event,
    GetSessionConfig,
    PairingError,
    SessionError,
    SessionNotFoundError,
)
from newel_types import Content, FunctionResponse, Part

_NAMES = ("'; DROP TABLE sessions; --", '"', "%s", "a\x00b", "é😀", "back\\slash", "../..", "A", "a", "null", "x" * 800)
_VALUES: tuple[object, ...] = (
    0,
    False,
    "",
    [],
    {},
    1.0,
    -0.0,
    0.1 + 0.2,
    2**53 + 1,
    2**70,
    10**40,
    [None],
    {"a": {"b": None}},
    "\x00😀",
)


async def sessions_are_made_once(place: Place) -> None:
    """An id is one session of a user; a second create is refused and changes nothing."""
    store = place.service()
    await store.create_session(**place.at(), state={"a": 1})
    await refused(store.create_session(**place.at(), state={"a": 2, "app:b": 1}), AlreadyExistsError)
    await store.create_session(**place.at(user_id="v"))
    session = await store.get_session(**place.at())
    same(session and session.state, {"a": 1})
    same(await store.get_session(**place.at("none")), None)


async def copies_are_the_callers(place: Place) -> None:
    """A value that was passed in or returned can be changed without changing the store."""
    store = place.service()
    state = {"a": {"b": [1]}}
    session = await store.create_session(**place.at(), state=state)
    state["a"]["b"].append(2)
    session.state["a"]["b"].append(3)
    got = await store.get_session(**place.at())
    same(got and got.state, {"a": {"b": [1]}})


async def order_is_that_of_the_appends(place: Place) -> None:
    """Whatever the times say; filters follow that order."""
    store = place.service()
    session = await store.create_session(**place.at())
    for text, time in (("0", 30.0), ("1", 10.0), ("2", 20.0), ("3", 10.0)):
        await store.append_event(session, text_event(text, timestamp=time))
    same(texts(await store.get_session(**place.at())), ["0", "1", "2", "3"])
    recent = GetSessionConfig(num_recent_events=2)
    same(texts(await store.get_session(**place.at(), config=recent)), ["2", "3"])
    late = GetSessionConfig(after_timestamp=20.0)
    same(texts(await store.get_session(**place.at(), config=late)), ["0", "2"])


async def an_event_id_is_stored_once(place: Place) -> None:
    """So that an append whose answer was lost can be made again."""
    store = place.service()
    session = await store.create_session(**place.at())
    await store.append_event(session, text_event("one", id="same"))
    await refused(store.append_event(session, text_event("two", id="same", state={"n": 1})), AlreadyExistsError)
    got = await store.get_session(**place.at())
    same((texts(got), got and got.state), (["one"], {}))


async def scopes_are_shared(place: Place) -> None:
    """``app:`` by all, ``user:`` by the user's sessions, ``temp:`` by none; None removes."""
    store = place.service()
    session = await store.create_session(**place.at(), state={"gone": 1, "app:gone": 1})
    delta = {"app:a": 1, "user:u": 2, "own": 3, "temp:t": object(), "gone": None, "app:gone": None}
    await store.append_event(session, wrote(**delta))
    other = await store.create_session(**place.at("other"))
    same(other.state, {"app:a": 1, "user:u": 2})
    same((await store.create_session(**place.at("s", "v"))).state, {"app:a": 1})
    got = await store.get_session(**place.at())
    same(got and got.state, {"app:a": 1, "user:u": 2, "own": 3})


async def values_and_names_are_exact(place: Place) -> None:
    """Numbers, texts and names come back as they were."""
    store = place.service()
    for number, name in enumerate(_NAMES):
        where = place.at(name, name)
        session = await store.create_session(**where)
        await store.append_event(session, wrote(**{name[:700]: number, **{f"v{i}": v for i, v in enumerate(_VALUES)}}))
        await store.append_event(session, text_event(name))
        got = await store.get_session(**where)
        same(texts(got), [name])
        state = {name[:700]: number, **{f"v{i}": value for i, value in enumerate(_VALUES)}}
        same(repr(sorted((got.state if got else {}).items())), repr(sorted(state.items())))
    await refused(store.create_session(**place.at("x" * 801)), SessionError)


async def what_is_refused_changes_nothing(place: Place) -> None:
    """A result without its call, or a key that is not a text: neither the store nor the view has it."""
    store = place.service()
    session = await store.create_session(**place.at())
    result = Part(function_response=FunctionResponse(id="c", name="f", response={}))
    event = Event(author="agent", content=Content(role="user", parts=[result]))
    event.actions.state_delta["n"] = 1
    await refused(store.append_event(session, event), PairingError)
    bad = wrote(n=1)
    bad.actions.state_delta[2] = 1  # type: ignore[index]
    await refused(store.append_event(session, bad), SessionError)
    got = await store.get_session(**place.at())
    same((session.events, session.state, got and got.events, got and got.state), ([], {}, [], {}))


async def a_deleted_session_takes_nothing(place: Place) -> None:
    """Nor does a session created again under its id have anything of it."""
    store = place.service()
    session = await store.create_session(**place.at(), state={"app:kept": 1})
    await store.append_event(session, text_event("old", state={"own": 1}))
    await store.delete_session(**place.at())
    await store.delete_session(**place.at())
    await refused(store.append_event(session, text_event("ghost", state={"app:ghost": 1})), SessionNotFoundError)
    anew = await store.create_session(**place.at())
    same((anew.events, anew.state), ([], {"app:kept": 1}))
    for text in ("1", "2", "3"):  # fewer events than the view has seen, as many, and more
        await refused(store.append_event(session, text_event("ghost")), SessionNotFoundError)
        await store.append_event(anew, text_event(text))
    same(texts(await store.get_session(**place.at())), ["1", "2", "3"])


async def a_stale_copy_is_caught_up(place: Place) -> None:
    """Within a service nothing is lost or reordered."""
    store = place.service()
    await store.create_session(**place.at())
    one, two = await store.get_session(**place.at()), await store.get_session(**place.at())
    assert one is not None
    assert two is not None
    await store.append_event(one, text_event("one", state={"n": 1}))
    await store.append_event(two, text_event("two"))
    same(
        (texts(two), two.state, texts(await store.get_session(**place.at()))),
        (["one", "two"], {"n": 1}, ["one", "two"]),
    )


async def many_tasks_append(place: Place) -> None:
    """Each event once, in the order of the calls of its task."""
    store = place.service()
    session = await store.create_session(**place.at())

    async def go(task: int) -> None:
        for number in range(5):
            await store.append_event(session, text_event(f"{task}.{number}", state={f"k{task}": number}))

    await asyncio.gather(*map(go, range(8)))
    got = texts(await store.get_session(**place.at()))
    same(sorted(map(str, got)), sorted(f"{task}.{number}" for task in range(8) for number in range(5)))
    for task in range(8):
        same([text for text in got if str(text).startswith(f"{task}.")], [f"{task}.{number}" for number in range(5)])


async def a_cancelled_append_is_whole(place: Place) -> None:
    """It is in the store and in the view, or in neither."""
    store = place.service()
    session = await store.create_session(**place.at())
    for steps in range(8):
        task = asyncio.ensure_future(store.append_event(session, text_event(f"{steps}", state={f"k{steps}": 1})))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        got = await store.get_session(**place.at())
        same((texts(got), got and got.state), (texts(session), session.state))
    await store.append_event(session, text_event("after"))


async def a_cancellation_at_any_await_leaves_a_whole_append(place: Place) -> None:
    """Wherever it comes: the event is in the store and in the view, with its state, or nowhere."""
    store = place.service()
    session = await store.create_session(**place.at())
    numbers = count()

    def append() -> Coroutine[Any, Any, Event]:
        number = next(numbers)
        return store.append_event(session, text_event(f"{number}", state={"n": number, "app:n": number}))

    async for task in cancelled_at_each_await(append):
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error
        got = await reread(place, store)
        same((texts(got), got.state), (texts(session), session.state))
        last = texts(got)[-1:]
        same(got.state, {"n": int(str(last[0])), "app:n": int(str(last[0]))} if last else {})


async def deleting_takes_one_session(place: Place) -> None:
    """Sessions whose names are alike, of other users or of other apps stay, and so does what their scopes share."""
    store = place.service()
    elsewhere = {**place.at(), "app_name": f"{place.app}-2"}
    others = [place.at(name) for name in ("s1", "S", "s%", "_")] + [place.at("s", "u2"), elsewhere]
    for where in (place.at(), *others):
        session = await store.create_session(**where)
        await store.append_event(session, text_event("x", state={"own": 1, "user:u": 1, "app:a": 1}))
    await store.delete_session(**place.at())
    await store.delete_session(**place.at("never"))
    same((await store.get_session(**place.at()), await store.open(**place.at())), (None, None))
    same(await store.tail(**place.at(), after=0), [])
    for where in others:
        kept = await store.get_session(**where)
        same((texts(kept), kept and kept.state), (["x"], {"own": 1, "user:u": 1, "app:a": 1}))
    listed = (await store.list_sessions(app_name=place.app, user_id="u")).sessions
    same([one.id for one in listed], ["s1", "S", "s%", "_"])
    same((await store.create_session(**place.at())).state, {"user:u": 1, "app:a": 1})


async def lists_are_of_who_was_asked_for(place: Place) -> None:
    """Without events, with the state of all scopes, and with the time and version of now."""
    store = place.service()
    for name, user in (("1", "u"), ("2", "u"), ("1", "v")):
        session = await store.create_session(**place.at(name, user), state={"name": name})
        await store.append_event(session, text_event("x", timestamp=77.5, state={"user:by": user, "app:last": user}))
    listed = (await store.list_sessions(app_name=place.app, user_id="u")).sessions
    page = await store.list_page(app_name=place.app, user_id="u", size=9)
    for sessions in (listed, page.sessions):
        same(
            [(one.app_name, one.user_id, one.id, one.events) for one in sessions],
            [(place.app, "u", "1", []), (place.app, "u", "2", [])],
        )
        same([one.state for one in sessions], [{"name": name, "user:by": "u", "app:last": "v"} for name in "12"])
        same([one.last_update_time for one in sessions], [77.5, 77.5])
    same(page.next, None)
    same((await store.list_sessions(app_name=place.app, user_id="never")).sessions, [])
    same((await store.list_sessions(app_name=f"{place.app}-2")).sessions, [])


async def a_session_without_a_name_gets_one(place: Place) -> None:
    """Each one another; blanks around a name are not part of it."""
    store = place.service()
    where: dict[str, Any] = {"app_name": place.app, "user_id": "u"}
    made = [(await store.create_session(**where, session_id=name)).id for name in (None, None, "", "  ")]
    assert len({*made, ""}) == 5, f"the names {made!r} are not four"
    same((await store.create_session(**where, session_id=" s ")).id, "s")


async def lists_come_in_pages(place: Place) -> None:
    """By user and creation, each session once; a page ends where it was asked to."""
    store = place.service()
    for name in "edcba":
        await store.create_session(**place.at(name, "u" if name != "c" else "t"), state={name: 1, "user:n": 1})
    order = ["c", "e", "d", "b", "a"]
    same([one.id for one in (await store.list_sessions(app_name=place.app)).sessions], order)
    seen, after = [], None
    while True:
        page = await store.list_page(app_name=place.app, size=2, after=after)
        seen += page.sessions
        if (after := page.next) is None:
            break
    same([one.id for one in seen], order)
    same([one.state for one in seen], [{name: 1, "user:n": 1} for name in order])
    same([one.id for one in (await store.list_page(app_name=place.app, user_id="u", size=4)).sessions], order[1:])
    await refused(store.list_page(app_name=place.app, after="nothing"), SessionError)
    await refused(store.list_page(app_name=place.app, size=0), SessionError)


async def a_fork_goes_its_own_way(place: Place) -> None:
    """It has the events and the state of its moment, and later events of the fork do not reach its source."""
    store = place.service()
    session = await store.create_session(**place.at(), state={"first": 1})
    for number in range(4):
        state = {"n": number, f"k{number}": 1}
        await store.append_event(session, text_event(f"{number}", id=f"e{number}", state=state))
    fork = await store.fork(**place.at(), new_session_id="f", events=2)
    same((texts(fork), fork.state), (["0", "1"], {"first": 1, "n": 1, "k0": 1, "k1": 1}))
    await store.append_event(fork, text_event("other", id="e2"))
    same(texts(await store.get_session(**place.at("f"))), ["0", "1", "other"])
    same(texts(await store.get_session(**place.at())), ["0", "1", "2", "3"])
    whole = await store.fork(**place.at())
    same((texts(whole), whole.state), (texts(session), session.state))
    await refused(store.fork(**place.at(), new_session_id="f"), AlreadyExistsError)
    await refused(store.fork(**place.at("none")), SessionNotFoundError)


async def a_tail_has_what_follows(place: Place) -> None:
    """A reader that follows a session gets the new events."""
    store = place.service()
    session = await store.create_session(**place.at())
    for number in range(3):
        await store.append_event(session, text_event(f"{number}"))
    await store.append_out_of_band(**place.at(), event=text_event("and", author="user"))
    tail = await store.tail(**place.at(), after=2)
    same([part.text for event in tail for part in (event.content and event.content.parts) or ()], ["2", "and"])
    same(await store.tail(**place.at("none"), after=0), [])
    await refused(store.append_out_of_band(**place.at("none"), event=text_event("x")), SessionNotFoundError)


CHECKS = {
    check.__name__: check
    for check in (
        sessions_are_made_once,
        copies_are_the_callers,
        order_is_that_of_the_appends,
        an_event_id_is_stored_once,
        scopes_are_shared,
        values_and_names_are_exact,
        what_is_refused_changes_nothing,
        a_deleted_session_takes_nothing,
        a_stale_copy_is_caught_up,
        many_tasks_append,
        a_cancelled_append_is_whole,
        a_cancellation_at_any_await_leaves_a_whole_append,
        deleting_takes_one_session,
        lists_are_of_who_was_asked_for,
        a_session_without_a_name_gets_one,
        lists_come_in_pages,
        a_fork_goes_its_own_way,
        a_tail_has_what_follows,
    )
}
