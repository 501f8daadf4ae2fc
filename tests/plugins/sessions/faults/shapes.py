"""What a worker is killed in: runs that stop at a point, and what each tool did."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

from newel import Agent, App, Runner, Workflow
from newel.agents import ParallelAgent, SequentialAgent
from newel.apps import ResumabilityConfig
from newel.events import RequestInput
from newel.models import BaseLlm, LlmRequest, LlmResponse
from newel.sessions import BaseSessionService
from newel.tools import FunctionTool, LongRunningFunctionTool, ToolContext
from newel.workflow import JoinNode
from newel_compose import Composition
from newel_kernel import AlreadyExistsError, BaseAgent, Event
from newel_types import Content, FunctionCall, FunctionResponse, Part

#: What a run ends with.
END = "the end"
AT: dict[str, Any] = {"user_id": "u", "session_id": "s"}
APPROVAL = "adk_request_confirmation"
#: The tools whose effect must not come twice, and those of them that run only once a person has approved of it.
ONCE, APPROVED = {"pay", "send", "wipe"}, {"wipe"}
PURE = {"look"}
#: Tools whose result somebody sends later: without a first result a call counts as begun, and nobody is asked.
LATER = {"order"}


class Worker:
    """A process that serves a session. At the point `at`, from 1, it sends itself the signal; 0: it never does."""

    def __init__(self, name: str, folder: Path, at: int = 0, signal_number: int = signal.SIGKILL) -> None:
        self.name = name
        self.folder = folder
        self._at = at
        self._signal = signal_number
        self._points = 0

    def point(self) -> None:
        """Here a worker may be killed."""
        self._points += 1
        if self._points == self._at:
            os.kill(os.getpid(), self._signal)

    def note(self, file: str, line: str) -> None:
        """What is written is there, whatever becomes of the process."""
        with (self.folder / f"{self.name} {file}").open("a", encoding="utf-8") as opened:
            opened.write(f"{line}\n")

    def watch(self, store: BaseSessionService) -> None:
        """Stop before and after each append to the store, and note what it acknowledges."""
        append = store.append_event

        async def append_event(session: Any, event: Event) -> Event:
            if event.partial:
                return await append(session, event)
            self.point()
            stored = await append(session, event)
            self.note("acknowledged", stored.id)
            self.point()
            return stored

        store.append_event = append_event  # type: ignore[method-assign]

    def tool(self, name: str, result: object = "done") -> Callable[..., Awaitable[object]]:
        """A function that notes the effect, with the call's id."""

        async def run(tool_context: ToolContext) -> object:
            """Do it."""
            self.note("begun", effect := f"{name} {tool_context.function_call_id}")
            self.point()
            self.note("effects", effect)
            self.point()
            return result

        run.__name__ = name
        return run

    def once(self, name: str, **options: Any) -> FunctionTool:
        """A tool whose effect must not come twice."""
        return FunctionTool(self.tool(name), effect="at_most_once", **options)

    def agent(self, name: str, *tools: Any, last: str = "", **options: Any) -> Agent:
        """An agent that calls its tools one by one, those of a tuple at once, then says `last`."""
        every = [one for step in tools for one in (step if isinstance(step, tuple) else (step,))]
        steps = [[one.name for one in (step if isinstance(step, tuple) else (step,))] for step in tools]
        model = _Steps(model="steps", worker=self, steps=steps, last=last or f"{name} is done")
        return Agent(name=name, model=model, tools=every, **options)


class _Steps(BaseLlm):
    """Goes by how many results it is shown."""

    worker: Any
    steps: list[list[str]]
    last: str

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.worker.point()
        shown = {
            part.function_response.name
            for one in llm_request.contents
            for part in one.parts or ()
            if part.function_response
        }
        step = next((names for names in self.steps if not shown >= set(names)), [])
        calls = [Part(function_call=FunctionCall(name=name, args={})) for name in step]
        yield LlmResponse(content=Content(role="model", parts=calls or [Part(text=self.last)]))


def tools(worker: Worker) -> BaseAgent:
    """One call, then two at once."""
    look = FunctionTool(worker.tool("look"), effect="pure")
    note = FunctionTool(worker.tool("note"), effect="idempotent")
    return worker.agent("clerk", look, (note, worker.once("pay")), last=END)


def branches(worker: Worker) -> BaseAgent:
    """Two agents at once, and one behind them."""
    note = FunctionTool(worker.tool("note"), effect="idempotent")
    left = worker.agent("left", note, worker.once("send"))
    right = worker.agent("right", worker.once("pay"))
    both = ParallelAgent(name="both", sub_agents=[left, right])
    return SequentialAgent(name="all", sub_agents=[both, worker.agent("closer", last=END)])


def pauses(worker: Worker) -> BaseAgent:
    """A call that somebody answers later, and one that somebody must approve."""
    order = LongRunningFunctionTool(worker.tool("order", None))
    return worker.agent("clerk", order, worker.once("wipe", require_confirmation=True), last=END)


def graph(worker: Worker) -> BaseAgent:
    """A function, then an agent, a function and a question at once, then what joins them."""

    def begin(node_input: Any) -> str:
        worker.point()
        return "begun"

    def ask(node_input: Any) -> Iterator[RequestInput]:
        worker.point()
        yield RequestInput(interrupt_id="size", message="Which size?")

    def last(node_input: Any) -> str:
        worker.point()
        return END

    teller = worker.agent("teller", worker.once("pay"))
    return Workflow(name="graph", edges=[("START", begin, (teller, ask), JoinNode(name="join"), last)])


SHAPES = {"tools": tools, "branches": branches, "pauses": pauses, "graph": graph}


class Client:
    """Has one session of an app served by a worker, until nothing is left to do."""

    def __init__(self, app: str, repeat: bool) -> None:
        self.app = app
        #: What a person says who is asked whether a call that may have taken effect is to run again.
        self._repeat = repeat

    async def serve(self, shape: str, worker: Worker, store: BaseSessionService, composition: Composition) -> None:
        """Start the run, or resume it, and answer what it asks."""
        worker.watch(store)
        app = App(
            name=self.app, root_agent=SHAPES[shape](worker), resumability_config=ResumabilityConfig(is_resumable=True)
        )
        runner = Runner(app=app, session_service=store, composition=composition)
        if not (events := await self.events(store)):
            with suppress(AlreadyExistsError):
                await store.create_session(app_name=self.app, **AT)
            await _run(runner, new_message="go")
        else:
            await _run(runner, invocation_id=events[0].invocation_id)
        for _ in range(8):
            if (question := next(iter(questions(await self.events(store))), None)) is None:
                return
            await _run(runner, new_message=self._answer(question, await self.events(store), worker))
        raise AssertionError("it asks without end")

    async def events(self, store: BaseSessionService) -> list[Event]:
        """What the store has of the session."""
        session = await store.get_session(app_name=self.app, **AT)
        return list(session.events) if session else []

    def _answer(self, question: FunctionCall, events: list[Event], worker: Worker) -> Content:
        response: dict[str, Any] = {"result": "answered"}
        if question.name == APPROVAL:
            call = approved(question)
            again = call.name not in APPROVED or asked(events, call) > 1
            response = {"confirmed": self._repeat or not again}
            if response["confirmed"]:
                worker.note("approvals", f"{call.name} {call.id}")
        result = FunctionResponse(id=question.id, name=question.name, response=response)
        return Content(role="user", parts=[Part(function_response=result)])


async def _run(runner: Runner, **what: Any) -> None:
    async with aclosing(runner.run_async(**AT, **what)) as events:
        async for _ in events:
            await asyncio.sleep(0)


def calls(events: list[Event], name: str = "") -> list[FunctionCall]:
    """The calls in a log; those of a name, or those that are no questions of the framework's."""
    every = [call for event in events for call in event.get_function_calls()]
    return [one for one in every if (one.name == name if name else not str(one.name).startswith("adk_"))]


def approved(request: FunctionCall) -> FunctionCall:
    """The call that a request for approval is about."""
    return FunctionCall.model_validate((request.args or {})["originalFunctionCall"])


def asked(events: list[Event], call: FunctionCall) -> int:
    """How often a person was asked about a call."""
    return [approved(one).id for one in calls(events, APPROVAL)].count(call.id)


def lines(file: Path) -> list[str]:
    """What `Worker.note` has written."""
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def questions(events: list[Event]) -> list[FunctionCall]:
    """The calls that wait for the user."""
    waiting: dict[str, FunctionCall] = {}
    for event in events:
        for call in event.get_function_calls():
            if call.id in (event.long_running_tool_ids or ()):
                waiting[str(call.id)] = call
        for result in event.get_function_responses() if event.author == "user" else ():
            waiting.pop(str(result.id), None)
    return list(waiting.values())
