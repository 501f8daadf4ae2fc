"""The house of the state machine: two runners and one store, tools that wait at gates, and what each hand did."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from contextlib import aclosing
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from newel import Agent, App, Runner
from newel.apps import ResumabilityConfig
from newel.claims.claim import table_of
from newel.models import BaseLlm, LlmRequest, LlmResponse
from newel.sessions import InMemorySessionService, SqliteSessionService
from newel.tools import FunctionTool, LongRunningFunctionTool, ToolContext
from newel_compose import Composition, compose
from newel_kernel import BaseSessionService, Event, Log, Session
from newel_types import Content, FunctionCall, Part

AT: dict[str, Any] = {"user_id": "ada", "session_id": "s"}
WHERE: dict[str, Any] = {"app_name": "house", **AT}
#: What a message of the user says -> the tools that the model calls.
WORDS = {
    "talk": (),
    "pay": ("pay",),
    "look": ("look",),
    "wipe": ("wipe",),
    "order": ("order",),
    "both": ("pay", "look"),
    "all": ("wipe", "pay", "order"),
}
#: A disk may be slow while others use it.
_ROUNDS = 200_000


@cache
def composed(busy: str) -> Composition:
    """`standard`, with what happens to a second run."""
    base = compose("standard")
    settings = {**base.distribution.settings, "claims": {"busy": busy}}
    return compose(base.distribution.model_copy(update={"settings": settings}))


class StrictModel(BaseLlm):
    """Calls the tools that the latest message names, and refuses a conversation as a provider does."""

    house: Any

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        await self.house.check_request(llm_request.contents)
        await self.house.gate()
        text = next((part.text for part in llm_request.contents[-1].parts or () if part.text), "")
        parts = [Part(function_call=FunctionCall(name=name, args={})) for name in WORDS.get(text, ())]
        yield LlmResponse(content=Content(role="model", parts=parts or [Part(text="done")]))


@dataclass(eq=False)
class Run:
    """A run of one of the hands: its task, the gates at which it waits, and what its caller was given."""

    task: asyncio.Task[None] | None = None
    gates: list[asyncio.Future[None]] = field(default_factory=list)
    acknowledged: list[str] = field(default_factory=list)

    @property
    def over(self) -> bool:
        """Whether it has ended, in whatever way."""
        return self.task is None or self.task.done()

    @property
    def stands(self) -> bool:
        """Whether it waits at a gate."""
        return any(not gate.done() for gate in self.gates)


def first_answers(events: Sequence[Event]) -> dict[str, Any]:
    """Call id -> what the user answered to it first, of the events that a rewind has not taken back."""
    found: dict[str, Any] = {}
    for event in Log(list(events)).standing():
        for result in event.get_function_responses() if event.author == "user" else ():
            found.setdefault(str(result.id), result.response)
    return found


#: The run to which a task belongs.
_RUN: ContextVar[Run] = ContextVar("run")


class House:
    """A store, two runners over it, and a ledger of effects. `kill` goes on with what was committed."""

    def __init__(self, folder: Path | None, busy: str) -> None:
        self.folder = folder
        self.busy = busy
        self.age = 0
        self.runs: list[Run] = []
        #: What has ended since somebody looked.
        self.ended: list[Run] = []
        #: Per producer, the ids of the events that it was told are stored.
        self.acknowledged: list[list[str]] = []
        #: Call id -> how often its tool took effect; only of tools that must not happen twice.
        self.effects: Counter[str] = Counter()
        self.problems: list[str] = []
        self.store: BaseSessionService = self._open()
        self.hands = [self._runner(), self._runner()]

    def _open(self) -> BaseSessionService:
        if self.folder is None:
            return InMemorySessionService()
        return SqliteSessionService(self.folder / f"{self.age}.db")

    def _runner(self) -> Runner:
        once = {"effect": "at_most_once"}
        agent = Agent(
            name="clerk",
            model=StrictModel(model="strict", house=self),
            tools=[
                FunctionTool(self._tool("pay", counts=True), **once),  # type: ignore[arg-type]
                FunctionTool(self._tool("wipe", counts=True), require_confirmation=True, **once),  # type: ignore[arg-type]
                FunctionTool(self._tool("look", counts=False)),
                LongRunningFunctionTool(self._tool("order", counts=False, result=None)),
            ],
        )
        app = App(name="house", root_agent=agent, resumability_config=ResumabilityConfig(is_resumable=True))
        return Runner(app=app, session_service=self.store, composition=composed(self.busy))

    def _tool(self, name: str, *, counts: bool, result: object = "ok") -> Callable[..., Awaitable[object]]:
        async def tool(tool_context: ToolContext) -> object:
            """A tool of the house."""
            age = self.age
            await self.gate()
            if counts and age == self.age:  # what a killed process does, it does not do
                self.effects[str(tool_context.function_call_id)] += 1
            await self.gate()
            return result

        tool.__name__ = name
        return tool

    async def gate(self) -> None:
        """Wait until somebody lets this run go on."""
        run = _RUN.get()
        future = asyncio.get_running_loop().create_future()
        run.gates.append(future)
        try:
            await future
        finally:
            run.gates.remove(future)

    async def check_request(self, contents: list[Content]) -> None:
        """Note where a model would be shown calls and results that do not pair, or an answer that nobody gave."""
        given = [
            result.response
            for event in Log(list((await self.stored()).events)).standing()
            for result in (event.get_function_responses() if event.author == "user" else ())
        ]
        for index, content in enumerate(contents):
            calls = [part.function_call.name for part in content.parts or () if part.function_call is not None]
            following = contents[index + 1] if index + 1 < len(contents) else Content(parts=[])
            answers = [p.function_response.name for p in following.parts or () if p.function_response is not None]
            open_calls = Counter(calls) - Counter(answers)  # providers' plugins say of long-running ones that they wait
            if Counter(answers) - Counter(calls) or not open_calls.keys() <= {"order"}:
                self.problems.append(f"the model is shown the calls {calls} before the results {answers}")
            results = [part.function_response for part in content.parts or () if part.function_response is not None]
            for shown in [result.response for result in results if result.name == "order"]:
                if shown not in ({"result": None}, *given):  # each answer is another one; models see no id of ours
                    self.problems.append(f"the model is shown {shown}; the answers are {given}")

    def begin(self, hand: int, **what: Any) -> Run:
        """Start a run."""
        run = Run()
        self.acknowledged.append(run.acknowledged)

        async def go() -> None:
            async with aclosing(self.hands[hand].run_async(**AT, **what)) as events:
                async for event in events:
                    if not event.partial:
                        run.acknowledged.append(event.id)

        return self.send(run, go())

    def rewind(self, hand: int, invocation_id: str, done: Callable[[], Awaitable[None]]) -> Run:
        """Start taking back what came since `invocation_id`; `done` is told once that is stored."""

        async def go() -> None:
            await self.hands[hand].rewind_async(**AT, rewind_before_invocation_id=invocation_id)
            await done()

        return self.send(Run(), go())

    def send(self, run: Run, work: Coroutine[Any, Any, None]) -> Run:
        async def go() -> None:
            _RUN.set(run)
            await work

        run.task = asyncio.get_running_loop().create_task(go())
        self.runs.append(run)
        return run

    def queues(self, run: Run) -> bool:
        """Whether the run waits for the end of another one, which stands at a gate."""
        holder = table_of(self.store).get((WHERE["app_name"], AT["user_id"], AT["session_id"]))
        return (
            self.busy == "queue"
            and holder is not None
            and any(other.task is holder.task and other.stands for other in self.runs if other is not run)
        )

    async def settle(self) -> None:
        """Let everything run until each run is over, waits at a gate, or waits for one that does."""
        still = 0
        for _ in range(_ROUNDS):
            resting = all(run.over or run.stands or self.queues(run) for run in self.runs)
            await asyncio.sleep(0 if resting or self.folder is None else 0.0002)  # a thread commits meanwhile
            still = still + 1 if resting else 0
            if still >= 8:
                break
        else:
            raise AssertionError("a run neither ends nor waits at a gate")
        for run in [run for run in self.runs if run.task is not None and run.task.done()]:
            self.runs.remove(run)
            self.ended.append(run)

    async def kill(self) -> None:
        """What is committed stays; what else the process did, and does while it ends, is lost."""
        self.age += 1
        old, stored = self.store, await self.stored()
        if self.folder is None:
            self.store = self._open()
            session = await self.store.create_session(**WHERE)
            for event in stored.events:
                await self.store.append_event(session, event.model_copy())
        else:
            with (
                sqlite3.connect(self.folder / f"{self.age - 1}.db") as source,
                sqlite3.connect(self.folder / f"{self.age}.db") as copied,
            ):
                source.backup(copied)
                copied.execute("UPDATE sessions SET owner = NULL, lease_until = NULL")  # the lease has run out
            source.close()
            copied.close()
            self.store = self._open()
        assert [e.id for e in (await self.stored()).events] == [e.id for e in stored.events]
        dying = [run.task for run in self.runs if run.task is not None]
        self.runs.clear()
        for task in dying:
            task.cancel()
        await asyncio.gather(*dying, return_exceptions=True)
        await old.close()
        self.hands = [self._runner(), self._runner()]

    async def stored(self) -> Session:
        """The session as the store has it."""
        session = await self.store.get_session(**WHERE)
        assert session is not None
        return session
