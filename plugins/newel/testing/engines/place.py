"""Place: an app of its own for each check, its runners and workers, and short ways to wait and look."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Collection
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

from newel.engines import OVER, AgentWork, BaseEngine, EngineWorker, RunRecord, RunState, SubmittedRun, Work
from newel.engines.places import place_of
from newel.questions.question import Question
from newel.runners import Runner
from newel.sessions.contract import SessionStore
from newel.testing.engines.clerk import ANSWER, clerk, noted
from newel_compose import Composition, compose
from newel_kernel import Event, seam
from newel_types import Content, FunctionResponse, Part

MakeEngine: TypeAlias = Callable[[], BaseEngine]
MakeSessions: TypeAlias = Callable[[], SessionStore]
#: How long a check waits for what has to come, in seconds.
LONGEST = 60.0
_POLL_SECONDS = 0.02
_USER = "u"


@cache
def composed(version: str = "") -> Composition:
    """The distribution `standard`, with a version of the app."""
    base = compose("standard").distribution
    return compose(base.model_copy(update={"settings": {**base.settings, "engines": {"version": version}}}))


class EnginePlace:
    """What a check has: an engine, a store of sessions, and an app that no other check has."""

    def __init__(self, make: MakeEngine, sessions: MakeSessions, app: str) -> None:
        self.make = make
        self.sessions = sessions
        self.app = app
        self.engine = make()
        self.store = sessions()
        self.folder = Path(tempfile.mkdtemp(prefix="engine-"))
        self._numbers = count(1)
        self._runners: dict[str, Runner] = {}
        self._workers: list[EngineWorker] = []
        self._stores = [self.store]

    def runner(self, version: str = "", *, engine: Any = None) -> Runner:
        """A runner of the app in a version, or one of `engine`."""
        if engine is not None:
            return self._runner(version, engine, self.store)
        if version not in self._runners:
            self._runners[version] = self._runner(version, self.engine, self.store)
        return self._runners[version]

    def another_runner(self) -> Runner:
        """A runner with a store of its own at the same place, if there can be several."""
        if self.engine.in_process:
            return self.runner()
        self._stores.append(store := self.sessions())
        return self._runner("", self.engine, store)

    def _runner(self, version: str, engine: Any, store: SessionStore) -> Runner:
        return Runner(
            app=clerk(self.app),
            session_service=store,
            composition=composed(version),
            engine=engine,
            auto_create_session=True,
        )

    def file(self) -> str:
        """The path of a file that does not exist."""
        return str(self.folder / f"file-{next(self._numbers)}")

    async def submit(self, message: str, *, version: str = "", **options: Any) -> SubmittedRun:
        """Submit a run in a session of its own."""
        where: dict[str, Any] = {"user_id": _USER, "session_id": f"s{next(self._numbers)}"}
        return await self.runner(version).submit(**where, new_message=message, **options)

    def work(self, version: str = "") -> AgentWork:
        """The work of a worker of the app."""
        return AgentWork([self.runner(version)])

    async def worker(
        self, work: Work | None = None, *, version: str = "", concurrency: int = 10, name: str = ""
    ) -> EngineWorker:
        """A worker that has begun to take the app's runs."""
        queues = self.work(version).queues
        worker = self.engine.worker(work or self.work(version), queues, concurrency=concurrency, name=name)
        self._workers.append(worker)
        await worker.start()
        return worker

    async def hanging(self) -> tuple[SubmittedRun, str]:
        """A run that is in its tool until somebody makes the file."""
        file = self.file()
        run = await self.submit(f"hang {file}")
        await until_file(lambda: bool(noted(f"{file}.begun")), "no worker has taken the run")
        return run, file

    async def answer(
        self, run: SubmittedRun, question: str, *, confirmed: bool = True, runner: Runner | None = None
    ) -> SubmittedRun:
        """Submit the answer to a run's request for approval."""
        message, by = approval(question, confirmed=confirmed), runner or self.runner()
        return await by.submit(user_id=_USER, session_id=run.spec.session_id, new_message=message)

    async def questions(self, run: SubmittedRun) -> list[Question]:
        """What waits for an answer in a run's session."""
        return await self.runner().questions(user_id=_USER, session_id=run.spec.session_id)

    async def events(self, run: SubmittedRun) -> list[Event]:
        """What the log has of a run's session, as another process reads it."""
        session = await self.store.get_session(**place_of(run.spec))
        return [*session.events] if session is not None else []

    async def has_session(self, run: SubmittedRun) -> bool:
        """Whether there is a run's session."""
        return await self.store.get_session(**place_of(run.spec)) is not None

    async def delete_session(self, run: SubmittedRun) -> None:
        """Delete a run's session."""
        await self.store.delete_session(**place_of(run.spec))

    async def close(self) -> None:
        """End the workers, and close the engine and the store."""
        for worker in self._workers:
            await worker.drain(0)
        await self.engine.close()
        for store in self._stores:
            await store.close()


def approval(question: str, *, confirmed: bool = True) -> Content:
    """The message that answers a request for approval."""
    answer = FunctionResponse(id=question, name="adk_request_confirmation", response={"confirmed": confirmed})
    return Content(role="user", parts=[Part(function_response=answer)])


async def until(holds: Callable[[], Awaitable[bool]], what: str) -> None:
    """Wait until something holds."""
    end = seam.monotonic() + LONGEST
    while not await holds():
        assert seam.monotonic() < end, f"after {LONGEST:.0f} s: {what}"
        await asyncio.sleep(_POLL_SECONDS)


async def until_file(has: Callable[[], bool], what: str) -> None:
    """Wait until a file says something."""

    async def holds() -> bool:
        return has()

    await until(holds, what)


async def state(run: SubmittedRun, *states: RunState) -> RunRecord:
    """The record of a run, once it is in one of the states; AssertionError if it is over in another one."""
    last: list[RunRecord] = []

    async def holds() -> bool:
        last[:] = [await run.record()]
        wrong = last[0].state in OVER and last[0].state not in states
        assert not wrong, f"the run is {last[0].state} ({last[0].reason}), and has to be {' or '.join(states)}"
        return last[0].state in states

    await until(holds, f"the run is not {' or '.join(states)}")
    return last[0]


def answers(events: Collection[Event]) -> int:
    """How many final answers there are."""
    return sum(event.text == ANSWER for event in events if event.author != "user")


def open_calls(events: Collection[Event]) -> set[str | None]:
    """The ids of the calls without any result."""
    calls = {call.id for event in events for call in event.get_function_calls()}
    return calls - {one.id for event in events for one in event.get_function_responses()}
