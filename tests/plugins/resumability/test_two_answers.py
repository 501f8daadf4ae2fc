"""Two answers to one question: the first that is stored acts, whatever comes while its tool runs."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from clerk import clerk, composed, outcome
from kinds import answer, file_effect, send, unanswered

from newel.agents import LlmAgent
from newel.apps import App, ResumabilityConfig
from newel.events import RequestInput
from newel.runners import Runner
from newel.sessions import InMemorySessionService, SqliteSessionService
from newel.testing import ScriptedModel
from newel.tools import LongRunningFunctionTool
from newel.workflow import Workflow
from newel_kernel import BaseSessionService, Event, GetSessionConfig, Session, StaleSessionError
from newel_types import Content, FunctionCall, FunctionResponse, Part

#: What a second answer is told: that it came too late; with claims, that the session has a run already.
TOO_LATE = {False: "ANSWERED_BEFORE", True: "SessionBusyError"}
WHERE = {"app_name": "app", "user_id": "ada", "session_id": "s"}


@asynccontextmanager
async def opened(kind: str, folder: Path) -> AsyncIterator[BaseSessionService]:
    store = InMemorySessionService() if kind == "memory" else SqliteSessionService(str(folder / "s.db"))
    try:
        yield store
    finally:
        await store.close()


def by_hand(call_id: str, name: str, response: dict[str, Any], invocation_id: str) -> Event:
    part = Part(function_response=FunctionResponse(id=call_id, name=name, response=response))
    return Event(invocation_id, "user", content=Content(role="user", parts=[part]))


@pytest.mark.parametrize("effect", ["idempotent", "at_most_once"])
@pytest.mark.parametrize("resumable", [True, False])
@pytest.mark.parametrize("claims", [True, False])
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_of_two_answers_at_once_one_acts(kind: str, resumable: bool, effect: str, claims: bool, tmp_path: Path) -> None:
    ran: list[str] = []

    async def main() -> list[str]:
        async with opened(kind, tmp_path) as store:
            runner = clerk(store, lambda _, path: ran.append(path), resumable=resumable, effect=effect, claims=claims)
            await send(runner, "s", "go")
            approval = answer(list(await unanswered(store, "s")))
            return await asyncio.gather(outcome(runner, approval), outcome(runner, approval))

    first, second = sorted(asyncio.run(main()))
    assert ran == ["/a"]
    assert first == ""
    assert second in (TOO_LATE[claims], "ANSWERED_BEFORE")


@pytest.mark.parametrize("effect", ["idempotent", "at_most_once"])
@pytest.mark.parametrize("resumable", [True, False])
@pytest.mark.parametrize("claims", [True, False])
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_an_answer_while_the_tool_runs_runs_nothing(
    kind: str, resumable: bool, effect: str, claims: bool, tmp_path: Path
) -> None:
    ran: list[str] = []
    told: list[str] = []

    async def main() -> str:
        async with opened(kind, tmp_path) as store:

            async def answer_again() -> None:
                told.append(await outcome(runner, approval))
                told.append(await outcome(runner, answer(requests, confirmed=False)))

            runner = clerk(
                store, lambda _, path: ran.append(path), answer_again, resumable=resumable, effect=effect, claims=claims
            )
            await send(runner, "s", "go")
            requests = list(await unanswered(store, "s"))
            approval = answer(requests)
            return await outcome(runner, approval)

    assert asyncio.run(main()) == ""
    assert ran == ["/a"]
    assert len(told) == 2
    assert set(told) == {TOO_LATE[claims]}


@pytest.mark.parametrize("confirmed", [True, False])
@pytest.mark.parametrize("effect", ["idempotent", "at_most_once"])
@pytest.mark.parametrize("resumable", [True, False])
@pytest.mark.parametrize("busy", ["queue", "interrupt"])
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_an_answer_that_waits_for_the_first_one_or_interrupts_it(
    kind: str, busy: Any, resumable: bool, effect: str, confirmed: bool, tmp_path: Path
) -> None:
    """Behind the first answer a second one changes nothing; where it ends the run of the first, that one counts."""
    ran: list[str] = []

    async def main() -> tuple[str, str, int]:
        begun, goes_on = asyncio.Event(), asyncio.Event()

        async def wait() -> None:
            begun.set()
            if len(ran) == 1:
                await goes_on.wait()

        async with opened(kind, tmp_path) as store:
            runner = clerk(
                store,
                lambda _, path: ran.append(path),
                wait,
                resumable=resumable,
                effect=effect,
                distribution="adk",
                busy=busy,
            )
            await send(runner, "s", "go")
            requests = list(await unanswered(store, "s"))
            first = asyncio.ensure_future(outcome(runner, answer(requests)))
            await begun.wait()
            second = asyncio.ensure_future(outcome(runner, answer(requests, confirmed=confirmed)))
            if busy == "queue":
                await asyncio.sleep(0)
                goes_on.set()
            return await first, await second, len(await unanswered(store, "s"))

    first, second, open_questions = asyncio.run(main())
    assert first == ""
    if busy == "queue":
        assert (second, ran, open_questions) == ("ANSWERED_BEFORE", ["/a"], 0)
    elif effect == "at_most_once":  # it may have happened: the user is asked whether it shall happen again
        assert (second, ran, open_questions) == ("", ["/a"], 1)
    else:
        assert (second, ran, open_questions) == ("", ["/a", "/a"], 0)


@pytest.mark.parametrize("claims", [True, False])
@pytest.mark.parametrize("resumable", [True, False])
def test_an_answer_of_another_process_while_the_tool_runs_runs_nothing(
    resumable: bool, claims: bool, tmp_path: Path
) -> None:
    told: list[str] = []

    async def main() -> None:
        async with SqliteSessionService(str(tmp_path / "s.db")) as store:

            async def answer_elsewhere() -> None:
                script = str(Path(__file__).with_name("clerk.py"))
                process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    script,
                    str(tmp_path),
                    *requests,
                    "claims" if claims else "none",
                    stdout=asyncio.subprocess.PIPE,
                )
                told.append((await process.communicate())[0].decode().strip())

            runner = clerk(
                store,
                file_effect(tmp_path / "effects", "first"),
                answer_elsewhere,
                resumable=resumable,
                claims=claims,
                distribution="adk",  # no timeout: a process takes its time to start
            )
            await send(runner, "s", "go")
            requests = list(await unanswered(store, "s"))
            assert await outcome(runner, answer(requests)) == ("" if claims else StaleSessionError.__name__)

    asyncio.run(main())
    assert (tmp_path / "effects").read_text("utf-8").splitlines() == ["first wipe /a"]
    assert told == [TOO_LATE[claims]]


class Meddler(InMemorySessionService):
    """Stores what another hand has to say before or after the first answer that it is given."""

    def __init__(self, *, before: bool) -> None:
        super().__init__()
        self.before = before
        self.event: Event | None = None

    async def append_event(self, session: Session, event: Event) -> Event:
        is_answer = event.author == "user" and bool(event.get_function_responses())
        meddles, self.event = (self.event, None) if is_answer else (None, self.event)
        if meddles is None:
            return await super().append_event(session, event)
        if not self.before:
            await super().append_event(session, event)
        other = await self.get_session(**WHERE)
        assert other is not None
        await super().append_event(other, meddles)
        return event if not self.before else await super().append_event(session, event)


@pytest.mark.parametrize("effect", ["idempotent", "at_most_once"])
@pytest.mark.parametrize("before", [True, False])
def test_the_order_of_the_log_decides(before: bool, effect: str) -> None:
    ran: list[str] = []
    store = Meddler(before=before)
    runner = clerk(store, lambda _, path: ran.append(path), effect=effect)

    async def main() -> tuple[str, str]:
        events = await send(runner, "s", "go")
        (request,) = await unanswered(store, "s")
        store.event = by_hand(request, "adk_request_confirmation", {"confirmed": False}, events[0].invocation_id)
        told = await outcome(runner, answer([request]))
        return told, await outcome(runner, None, events[0].invocation_id)

    told, _ = asyncio.run(main())
    assert told == ("ANSWERED_BEFORE" if before else "")
    assert ran == ([] if before else ["/a"])
    session = asyncio.run(store.get_session(**WHERE))
    assert session is not None
    results = [r.response for e in session.events for r in e.get_function_responses() if r.name == "wipe"]
    assert results[-1] == ({"error": "This tool call is rejected."} if before else {"result": "wiped"})


class Blind(InMemorySessionService):
    """A store whose views do not see what others append."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[Event] = []
        self.other: Event | None = None

    async def open(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        return await self.get_session(app_name=app_name, user_id=user_id, session_id=session_id, config=config)

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        return Session(id=session_id, app_name=app_name, user_id=user_id, events=list(self.log))

    async def append_event(self, session: Session, event: Event) -> Event:
        if self.other is not None:
            self.log.append(self.other)
            self.other = None
        self.log.append(event)
        return await BaseSessionService.append_event(self, session, event)


def test_what_is_stored_decides_where_a_view_is_behind() -> None:
    ran: list[str] = []
    store = Blind()
    runner = clerk(store, lambda _, path: ran.append(path))

    async def main() -> str:
        events = await send(runner, "s", "go")
        (request,) = await unanswered(store, "s")
        store.other = by_hand(request, "adk_request_confirmation", {"confirmed": True}, events[0].invocation_id)
        return await outcome(runner, answer([request]))

    assert asyncio.run(main()) == "ANSWERED_BEFORE"
    assert ran == []


def test_two_calls_are_left_each_to_the_run_that_stored_its_answer() -> None:
    ran: list[str] = []

    async def main() -> list[Part]:
        begun, goes_on = asyncio.Event(), asyncio.Event()
        store = InMemorySessionService()

        async def wait() -> None:
            begun.set()
            await goes_on.wait()

        runner = clerk(
            store, lambda _, path: ran.append(path), wait, calls=("/a", "/b"), claims=False, distribution="adk"
        )
        await send(runner, "s", "go")
        requests = list(await unanswered(store, "s"))
        waits = asyncio.ensure_future(send(runner, "s", answer(requests[:1])))
        await begun.wait()
        assert await outcome(runner, answer(requests[1:])) == ""
        goes_on.set()
        await waits
        session = await store.get_session(**WHERE)
        assert session is not None
        return [part for e in session.events if e.content is not None for part in e.content.parts or ()]

    parts = asyncio.run(main())
    assert sorted(ran) == ["/a", "/b"]
    kinds = ["result" if part.function_response is not None else part.text for part in parts]
    assert kinds[0] == "go"
    assert kinds.count("done") == 1, "one run goes on with the model"
    assert kinds[-1] == "done", "and it does so once both calls have a result"


@pytest.mark.parametrize("resumable", [True, False])
def test_an_answer_after_a_cancelled_run_goes_on_with_the_first_one(resumable: bool) -> None:
    ran: list[str] = []
    store = InMemorySessionService()

    async def cancel() -> None:
        if len(ran) == 1:
            task.cancel()
            await asyncio.Event().wait()

    runner = clerk(store, lambda _, path: ran.append(path), cancel, resumable=resumable)

    async def main() -> tuple[str, str]:
        nonlocal task
        await send(runner, "s", "go")
        requests = list(await unanswered(store, "s"))
        task = asyncio.ensure_future(outcome(runner, answer(requests)))
        with pytest.raises(asyncio.CancelledError):
            await task
        rejection = answer(requests, confirmed=False)
        return await outcome(runner, rejection), await outcome(runner, rejection)

    task: asyncio.Future[str] = None  # type: ignore[assignment]
    assert asyncio.run(main()) == ("", "ANSWERED_BEFORE")
    assert ran == ["/a", "/a"], "the first answer approved it, and counts"


class Mortal(SqliteSessionService):
    """A store whose process dies before it stores a result of the tool."""

    async def append_event(self, session: Session, event: Event) -> Event:
        if any(response.response == {"result": "wiped"} for response in event.get_function_responses()):
            raise ConnectionError("the process is gone")
        return await super().append_event(session, event)


@pytest.mark.parametrize("claims", [True, False])
@pytest.mark.parametrize("resumable", [True, False])
def test_an_answer_after_a_crash_acts_where_the_run_has_the_session_alone(
    resumable: bool, claims: bool, tmp_path: Path
) -> None:
    ran: list[str] = []

    async def main() -> tuple[str, str]:
        options: dict[str, Any] = {"resumable": resumable, "claims": claims, "distribution": "adk"}
        async with Mortal(str(tmp_path / "s.db")) as store:
            runner = clerk(store, lambda _, path: ran.append(path), **options)
            invocation_id = (await send(runner, "s", "go"))[0].invocation_id
            approval = answer(list(await unanswered(store, "s")))
            with pytest.raises(ConnectionError):
                await send(runner, "s", approval)
        async with SqliteSessionService(str(tmp_path / "s.db")) as store:
            runner = clerk(store, lambda _, path: ran.append(path), **options)
            told = await outcome(runner, approval)
            return told, await outcome(runner, None, invocation_id) if resumable else ""

    assert asyncio.run(main()) == ("" if claims else "ANSWERED_BEFORE", "")
    assert len(ran) == (2 if claims or resumable else 1)


def graph(ran: list[Any], meanwhile: Callable[[], Awaitable[object]]) -> Workflow:
    def ask(node_input: Any) -> Any:
        yield RequestInput(interrupt_id="q", message="How many?", response_schema=int)

    async def order(node_input: Any) -> str:
        ran.append(node_input)
        await meanwhile()
        return "ordered"

    return Workflow(name="wf", edges=[("START", ask, order)])


@pytest.mark.parametrize("resumable", [True, False])
@pytest.mark.parametrize("claims", [True, False])
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_graph_goes_on_with_the_first_answer_that_fits(
    kind: str, resumable: bool, claims: bool, tmp_path: Path
) -> None:
    ran: list[Any] = []
    told: list[str] = []

    def number(text: str) -> Content:
        answered = FunctionResponse(id="q", name="adk_request_input", response={"result": text})
        return Content(role="user", parts=[Part(function_response=answered)])

    async def main() -> None:
        async with opened(kind, tmp_path) as store:

            async def answer_again() -> None:
                told.append(await outcome(runner, number("7")))

            app = App(
                name="app",
                root_agent=graph(ran, answer_again),
                resumability_config=ResumabilityConfig(is_resumable=resumable),
            )
            composition = composed("standard", claims=claims)
            runner = Runner(app=app, session_service=store, auto_create_session=True, composition=composition)
            await send(runner, "s", "go")
            with pytest.raises(ValueError, match="does not fit"):
                await send(runner, "s", number("many"))
            assert await outcome(runner, number("5")) == ""
            told.append(await outcome(runner, number("9")))

    asyncio.run(main())
    assert ran == [5]
    assert told == [TOO_LATE[claims], "ANSWERED_BEFORE"]


def test_a_model_is_shown_the_latest_result_of_a_long_running_call() -> None:
    store = Meddler(before=False)

    def approve() -> None:
        """Ask somebody."""

    model = ScriptedModel([FunctionCall(name="approve", args={}), "noted", "more"])
    agent = LlmAgent(name="clerk", model=model, tools=[LongRunningFunctionTool(approve)])
    app = App(name="app", root_agent=agent, resumability_config=ResumabilityConfig(is_resumable=True))
    runner = Runner(app=app, session_service=store, auto_create_session=True)

    async def main() -> None:
        (event,) = await send(runner, "s", "go")
        (call,) = event.get_function_calls()
        store.event = by_hand(str(call.id), "approve", {"admin": True}, event.invocation_id)
        result = FunctionResponse(id=call.id, name="approve", response={"admin": False})
        await send(runner, "s", Part(function_response=result))
        await send(runner, "s", "and now?")

    asyncio.run(main())
    for request in model.requests[1:]:
        parts = [part for content in request.contents for part in content.parts or ()]
        shown = [part.function_response.response for part in parts if part.function_response is not None]
        assert shown == [{"admin": True}]
