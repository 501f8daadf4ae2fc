"""Leases across services of one place: what a run that slept, or that was cut off, may still do."""

from __future__ import annotations

import asyncio
import math
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from newel import Agent, App, Runner
from newel.apps import ResumabilityConfig
from newel.claims import SessionBusyError
from newel.claims.owners import is_alive, is_dead, nameless, new_owner
from newel.plugins import BasePlugin
from newel.questions.question import open_questions
from newel.sessions.stored import leasing
from newel.testing import ScriptedModel
from newel.tools import FunctionTool
from newel_kernel import Event, FencedError, Log
from newel_types import Content, FunctionCall, Part

AT: dict[str, Any] = {"user_id": "u", "session_id": "s"}
WHERE: dict[str, Any] = {"app_name": "till", **AT}
MakeStore = Callable[[], Any]


async def events_of(run: Any) -> list[Event]:
    async with aclosing(run) as events:
        return [event async for event in events]


class Sleep(BasePlugin):
    """Another process has taken the session over while this one slept, just before a tool."""

    def __init__(self, other: Any) -> None:
        super().__init__(name="sleep")
        self.other = other

    async def before_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any) -> None:
        ctx = tool_context.get_invocation_context()
        await ctx.session_service.renew(ctx.session, ttl=-1)  # its lease is over by now
        assert await self.other.claim(**WHERE, owner="other", ttl=60) is not None


@pytest.mark.parametrize("effect", ["at_most_once", "idempotent", "pure"])
def test_a_run_that_was_taken_over_has_no_effect(
    make_store: MakeStore, monkeypatch: pytest.MonkeyPatch, effect: str
) -> None:
    paid = []

    def pay() -> str:
        """Pay."""
        paid.append(1)
        return "paid"

    async def main() -> None:
        mine, other = make_store(), make_store()
        agent = Agent(
            name="till",
            model=ScriptedModel([FunctionCall(name="pay", args={}), "done"]),
            tools=[FunctionTool(pay, effect=effect)],
        )
        runner = Runner(
            agent=agent, app_name="till", session_service=mine, plugins=[Sleep(other)], auto_create_session=True
        )
        with pytest.raises(FencedError):
            await events_of(runner.run_async(**AT, new_message="pay"))
        assert len(paid) == (1 if effect == "pure" else 0)
        assert len((await other.get_session(**WHERE)).events) == 2  # the message and the call
        await mine.close()
        await other.close()

    # Much time has passed since the lease was taken, also for this process.
    monkeypatch.setattr(leasing, "clockwork", SimpleNamespace(elapsed=lambda: math.inf))
    asyncio.run(main())


def test_a_lease_that_holds_is_not_asked_for(make_store: MakeStore) -> None:
    async def main() -> None:
        async with make_store() as store:
            await store.create_session(**WHERE)
            view = await store.open(**WHERE)
            assert store.confirm(view) is None  # it holds nothing
            store.hold(view, 60)
            await store.append_event(view, Event(author="a", message="x"))
            assert store.confirm(view) is None
            await store.renew(view, ttl=0.5)
            store.release_soon(view)

    asyncio.run(main())


def resumable(store: Any, *steps: Any, tools: Any = ()) -> Runner:
    agent = Agent(name="till", model=ScriptedModel(list(steps)), tools=list(tools))
    app = App(name="till", root_agent=agent, resumability_config=ResumabilityConfig(is_resumable=True))
    return Runner(app=app, session_service=store)


def test_a_run_resumes_once_a_silent_process_has_lost_its_lease(make_store: MakeStore) -> None:
    async def main() -> None:
        mine, other = make_store(), make_store()
        session = await other.create_session(**WHERE)
        event = Event(author="user", message="go", invocation_id="i")
        await other.append_event(session, event)
        held = await other.claim(**WHERE, owner="elsewhere", ttl=60)
        with pytest.raises(SessionBusyError):  # a message is refused at once
            await events_of(resumable(mine, "hello").run_async(**AT, new_message="hi"))
        await other.renew(held, ttl=0.7)
        events = await events_of(resumable(mine, "gone on").run_async(**AT, invocation_id="i"))
        assert [event.content.parts[0].text for event in events if event.content] == ["gone on"]
        await mine.close()
        await other.close()

    asyncio.run(main())


def test_a_run_does_not_resume_beside_a_process_that_lives(make_store: MakeStore) -> None:
    async def main() -> None:
        mine, other = make_store(), make_store()
        session = await other.create_session(**WHERE)
        await other.append_event(session, Event(author="user", message="go", invocation_id="i"))
        held = await other.claim(**WHERE, owner="elsewhere", ttl=60)
        resuming = asyncio.create_task(events_of(resumable(mine, "no").run_async(**AT, invocation_id="i")))
        while not resuming.done():
            await other.renew(held, ttl=60)
            await asyncio.sleep(0.02)
        with pytest.raises(SessionBusyError, match="elsewhere"):
            await resuming
        await mine.close()
        await other.close()

    asyncio.run(main())


def test_a_service_does_not_look_whether_it_lives_itself(
    make_store: MakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(leasing, "is_dead", lambda owner: asked.append(owner) or False)

    async def main() -> None:
        mine, other = make_store(), make_store()
        runner = Runner(
            agent=Agent(name="till", model=ScriptedModel(["one", "two", "three"])),
            app_name="till",
            session_service=mine,
            auto_create_session=True,
        )
        for _ in range(3):  # what a run gives back is written with what comes next
            await events_of(runner.run_async(**AT, new_message="hi"))
        session = await mine.open(**WHERE)
        mine.hold(session, 60)
        await mine.take(session)
        assert mine.holder(await mine.open(**WHERE)) is None
        assert asked == []
        assert other.holder(await other.open(**WHERE)) is not None
        assert len(asked) == 1
        mine.release_soon(session)
        await mine.close()
        await other.close()

    asyncio.run(main())


PAY = Part(function_call=FunctionCall(id="c", name="pay", args={}))


@contextmanager
def elsewhere() -> Iterator[subprocess.Popen[str]]:
    """A process that is there until it is killed, and prints an owner of its own."""
    code = "from newel.claims.owners import new_owner; print(new_owner(), flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


async def left_behind(store: Any, owner: str) -> None:
    """A session in which a worker has lost its lease while a call had begun."""
    session = await store.create_session(**WHERE)
    await store.append_event(session, Event(author="user", message="pay", invocation_id="i"))
    call = Content(role="model", parts=[PAY])
    await store.append_event(session, Event(author="till", content=call, invocation_id="i"))
    await store.claim(**WHERE, owner=owner, ttl=-1)


@pytest.mark.parametrize("ended", [False, True])
def test_a_yes_repeats_no_call_that_another_process_may_still_be_in(make_store: MakeStore, ended: bool) -> None:
    paid = []

    def pay() -> str:
        """Pay."""
        paid.append(1)
        return "paid"

    async def main(other: subprocess.Popen[str], owner: str) -> list[Event]:
        async with make_store() as mine:
            await left_behind(mine, owner)
            runner = resumable(mine, "done", tools=[FunctionTool(pay, effect="at_most_once")])
            (question,) = open_questions(Log(await events_of(runner.run_async(**AT, invocation_id="i"))))
            assert f"The process that began it ({other.pid}) has not ended" in question.hint
            assert socket.gethostname() not in str(question.args)
            if ended:
                other.kill()
                await asyncio.sleep(0.2)  # nobody has asked for its status yet
            yes = Content(role="user", parts=[Part(function_response=question.response({"confirmed": True}))])
            return await events_of(runner.run_async(**AT, invocation_id="i", new_message=yes))

    with elsewhere() as other:
        assert other.stdout is not None
        events = asyncio.run(main(other, other.stdout.readline().strip()))
    (result,) = [one for event in events for one in event.get_function_responses()]
    if ended:
        assert result.response == {"result": "paid"}
    else:
        assert "not repeated: the process that began it" in str(result.response)
    assert len(paid) == ended
    assert "done" in str([event.content for event in events])


def test_a_process_of_which_nothing_is_known_is_not_waited_for(make_store: MakeStore) -> None:
    async def main() -> None:
        async with make_store() as mine:
            await left_behind(mine, "another-host:1:2/17/300/abcdef01")
            runner = resumable(mine, "done", tools=[FunctionTool(lambda: "paid", name="pay", effect="at_most_once")])
            (question,) = open_questions(Log(await events_of(runner.run_async(**AT, invocation_id="i"))))
            assert "The process that began it" not in question.hint
            yes = Content(role="user", parts=[Part(function_response=question.response({"confirmed": True}))])
            events = await events_of(runner.run_async(**AT, invocation_id="i", new_message=yes))
            assert [one.response for event in events for one in event.get_function_responses()] == [{"result": "paid"}]

    asyncio.run(main())


def test_a_process_counts_itself_among_those_that_have_not_ended(make_store: MakeStore) -> None:
    """The yes may come to the very process that stood still within the call."""

    async def main() -> None:
        async with make_store() as mine:
            await left_behind(mine, new_owner())
            runner = resumable(mine, "done", tools=[FunctionTool(lambda: "paid", name="pay", effect="at_most_once")])
            (question,) = open_questions(Log(await events_of(runner.run_async(**AT, invocation_id="i"))))
            yes = Content(role="user", parts=[Part(function_response=question.response({"confirmed": True}))])
            events = await events_of(runner.run_async(**AT, invocation_id="i", new_message=yes))
            (result,) = [one.response for event in events for one in event.get_function_responses()]
            assert "has not ended" in str(result)

    asyncio.run(main())


@pytest.mark.parametrize("owner", ["", "/", "x/1/2/3", "{here}/0x1/2/3", "{here}/99999999999999999999/1/x", "{here}//"])
def test_what_is_no_owner_is_neither_dead_nor_alive(owner: str) -> None:
    owner = owner.format(here=new_owner().partition("/")[0])
    assert not is_dead(owner)
    assert not is_alive(owner)
    assert not is_alive(nameless(owner))


def test_an_owner_is_known_without_its_machines_name() -> None:
    owner = new_owner()
    assert is_alive(owner)
    assert is_alive(nameless(owner))
    assert socket.gethostname() not in nameless(owner)
