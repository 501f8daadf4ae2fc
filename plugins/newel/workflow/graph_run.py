"""GraphRun: one run of a graph. It starts nodes as their triggers come, and passes their events on.

A function runs in place, without a task; so does a coroutine function, or any other node, that is ready alone. Only
nodes that run side by side, and those whose code may run others, get tasks, which meet in a `Meeting`.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from newel.events.request_input import RequestInput
from newel.workflow._errors import NodeInterruptedError
from newel.workflow._graph import Graph
from newel.workflow.agenda import Agenda
from newel.workflow.meeting import PRODUCED, Handover, Meeting, committed
from newel.workflow.node_run import NodeRun, NoResult
from newel.workflow.outputs import Outputs, PendingOutput
from newel.workflow.step import Step
from newel_kernel import Event, current_operation
from newel_types import ATOMS

Events = AsyncGenerator[Event, None]
_NOTHING: list[Event] = []


class GraphRun:
    """One run of `graph` as the node run `run`."""

    __slots__ = ("_agenda", "_limit", "_meeting", "_observed", "_outputs", "_run", "_tasks")

    def __init__(self, run: NodeRun, graph: Graph, max_concurrency: int | None) -> None:
        self._run = run
        self._limit = max_concurrency
        self._meeting = Meeting()
        self._outputs = Outputs(run.node.name, run.place, several=len(graph.terminal_names) > 1)
        self._agenda = Agenda(run, graph, self._meeting, self._outputs)
        self._tasks: dict[asyncio.Task[object], NodeRun] = {}
        #: Whether every run is an operation that plugins observe.
        self._observed = current_operation.get() is not None

    @property
    def outputs(self) -> Sequence[object]:
        """The graph's output, if it has one."""
        return list(self._outputs.by_name.values())

    @property
    def open_questions(self) -> list[str]:
        """The ids of the questions that the graph waits for."""
        return self._agenda.open_questions

    async def events(self, node_input: object) -> Events:
        """The events of the nodes, in the order in which they come."""
        agenda, outputs, checkpoint = self._agenda, self._outputs, self._run.tree.checkpoint
        steps: list[Event] | Events | None
        agenda.start(node_input)
        try:
            while True:
                running = len(self._tasks) - outputs.waiting
                if agenda.notices:
                    steps = agenda.tell()
                elif agenda.ready and (self._limit is None or running < self._limit):
                    run = agenda.ready.popleft()
                    steps = self._begin(run)
                    if steps is None:
                        step = agenda.steps[run.node.name]
                        steps = self._conclude(step, run, await run.call(step.call))
                elif running:
                    steps = self._arrived(await self._meeting.next())
                elif outputs.held:
                    steps = self._release()
                else:
                    return
                if isinstance(steps, list):
                    for event in steps:
                        yield event
                    continue
                async with aclosing(steps) as events:
                    async for event in events:
                        checkpoint.pin(event)
                        yield event
        finally:
            await self._meeting.close()

    def _begin(self, run: NodeRun) -> list[Event] | Events | None:
        """Start a run; return the events that it will have, or None if the caller is to await its function."""
        agenda = self._agenda
        step = agenda.steps[run.node.name]
        if step.name in agenda.busy:
            agenda.hold_up(run)
            return _NOTHING
        if run.tree.journal is not None and agenda.recall(run):
            agenda.complete(run, recalled=True)
            return _NOTHING
        if step.in_place and not self._observed:
            return self._call(step, run)
        agenda.busy.add(step.name)
        awaitable = step.awaitable and not self._observed
        if agenda.ready or self._tasks or step.starts_nodes:
            if awaitable:
                self._tasks[self._meeting.start(run.call(step.call))] = run
            else:
                self._tasks[self._meeting.start(self._meeting.produce(run.events()))] = run
            return _NOTHING
        return None if awaitable else self._alone(run)

    # Functions that are called here.

    def _call(self, step: Step, run: NodeRun) -> list[Event] | Events:
        """Run a function in place."""
        try:
            result = step.call(run)
        except NodeInterruptedError as interrupted:
            result = NoResult(question=interrupted.request)
        except Exception as error:  # noqa: BLE001 - the border to a node's code
            return self._failed(run, error)
        if result.__class__ not in ATOMS and inspect.isawaitable(result):
            self._agenda.busy.add(step.name)
            self._tasks[self._meeting.start(run.call(lambda _: result))] = run
            return _NOTHING
        return self._conclude(step, run, result)

    def _conclude(self, step: Step, run: NodeRun, result: object) -> list[Event] | Events:
        """The events of a function that was called: of its result, or its NoResult."""
        question: RequestInput | None = None
        if isinstance(result, NoResult):
            if result.failure is not None:
                return self._failed(run, result.failure)
            question, result = result.question, None
        try:
            event = step.event_of(run, result) or run.writes_event()
            events = [] if event is None else [event]
            if run.made_context is not None or question is not None:
                events += run.conclusion(question)
        except Exception as error:  # noqa: BLE001 - likewise: what it gave does not fit
            return self._failed(run, error)
        if self._outputs.several and run.place.terminal and run.outcome.produced and self._contested(0):
            self._outputs.hold(PendingOutput(events, run=run))
            return _NOTHING
        self._agenda.complete(run)
        return self._pinned(events)

    def _failed(self, run: NodeRun, failure: Exception) -> list[Event] | Events:
        """What follows a first attempt that failed: its error event, and further attempts next to the other runs."""
        self._agenda.busy.add(run.node.name)
        again = run.retry_delay(failure) is not None
        alone = not self._tasks
        if alone and not (again and (self._agenda.ready or self._agenda.steps[run.node.name].starts_nodes)):
            return self._alone(run, failure)
        self._tasks[self._meeting.start(self._meeting.produce(run.events(failure)))] = run
        return self._first_arrival() if alone else _NOTHING

    async def _first_arrival(self) -> Events:
        """The error of the only task, before the runs that are ready start along with its next attempt."""
        arrival = await self._meeting.next()
        if isinstance(arrival, tuple):
            yield arrival[0]
            committed(arrival[1])

    # Other runs.

    async def _alone(self, run: NodeRun, failure: Exception | None = None) -> Events:
        """The events of a run that runs alone."""
        async with aclosing(run.events(failure)) as events:
            async for event in events:
                self._outputs.check(run.node.name, event)
                yield event
        self._agenda.complete(run)
        for event in self._silent(run):
            yield event

    def _arrived(self, arrival: Handover | asyncio.Task[object]) -> list[Event] | Events:
        """Take what arrived: an event of a run in a task, or its end."""
        if not isinstance(arrival, tuple):
            run = self._tasks.pop(arrival)
            result = arrival.result()
            if result is not PRODUCED:
                return self._conclude(self._agenda.steps[run.node.name], run, result)
            self._agenda.complete(run)
            return self._silent(run)
        event, future = arrival
        if self._outputs.several and self._outputs.holds(event) and self._contested(1):
            self._outputs.hold(PendingOutput([event], committed=future))
            return _NOTHING
        return self._handed_over(event, future)

    @staticmethod
    async def _handed_over(event: Event, future: asyncio.Future[None]) -> Events:
        yield event
        committed(future)

    def _pinned(self, events: list[Event]) -> list[Event]:
        """`events` of a run that is over, the last of them with the checkpoint.

        In a resumable app the end of a run without events is recorded at once, so that it does not run again.
        """
        tree = self._run.tree
        if events:
            if tree.checkpoint.ended:
                tree.checkpoint.pin(events[-1])
        elif tree.checkpoint.silent and tree.resumable:
            return [tree.checkpoint_event(self._run.place)]
        return events

    def _silent(self, run: NodeRun) -> list[Event]:
        return _NOTHING if run.outcome.produced else self._pinned([])

    # A graph has one output.

    def _contested(self, tasks: int) -> bool:
        """Whether there is or may be another output; `tasks` is the number of tasks of the run at hand."""
        outputs = self._outputs
        return bool(outputs.by_name or outputs.held or self._agenda.ready or len(self._tasks) > tasks)

    async def _release(self) -> Events:
        """Release the outputs that were held, now that no other can come."""
        for output in self._outputs.release():
            events = output.events
            if output.run is not None:
                self._agenda.complete(output.run)
                events = self._pinned(events)
            for event in events:
                yield event
            self._outputs.unblock(output)
