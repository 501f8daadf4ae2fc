"""GraphRun: one run of a graph. It starts nodes as their triggers come, and passes their events on.

A function runs in place, without a task; so does a coroutine function, or any other node, that is ready alone. Only
nodes that run side by side, and those whose code may run others, get tasks, which meet in a `Meeting`.
"""

from __future__ import annotations

import asyncio
import inspect
from collections import deque
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from typing import Any

from newel.workflow._base_node import START_NAME
from newel.workflow._function_node import FunctionNode
from newel.workflow._graph import Graph, Step
from newel.workflow.joining import Joins
from newel.workflow.meeting import Meeting, committed
from newel.workflow.node_run import NodeRun
from newel.workflow.performing import await_call, conclusion, perform
from newel.workflow.recalling import recall
from newel_kernel.events import Event
from newel_kernel.observation import current
from newel_kernel.types.hot import ATOMS

Events = AsyncGenerator[Event, None]
#: Events that wait until it is certain that they hold the graph's only output, and how their producer goes on.
Held = tuple[list[Event], NodeRun | None, Any]
_NOTHING: list[Event] = []


class GraphRun:
    """One run of `graph` as the node run `run`."""

    def __init__(self, run: NodeRun, graph: Graph, max_concurrency: int | None) -> None:
        self.run = run
        self.steps = graph.steps
        self.limit = max_concurrency
        self.meeting = Meeting()
        self.ready: deque[NodeRun] = deque()
        self.tasks: dict[asyncio.Task[None], NodeRun] = {}
        self.counts: dict[str, int] = {}
        self.joins = Joins()
        #: Nodes that run or wait for an answer, and the runs that wait for them: a node does one thing at a time.
        self.busy: set[str] = set()
        self.later: dict[str, deque[NodeRun]] = {}
        self.open: list[str] = []
        self.outputs: dict[str, Any] = {}
        self.held: list[Held] = []
        #: How many of the tasks wait for theirs to be let go.
        self.kept = 0
        self.checked = len(graph.terminal_names) > 1
        #: Whether every run is to be an operation that plugins hear of.
        self.observed = current.get() is not None

    # What is to run.

    def start(self, node_input: Any) -> None:
        """Trigger the first nodes; then do over what the journal knows to be done."""
        self._follow(self.steps[START_NAME], node_input, None, self.run.branch)
        journal = self.run.tree.journal
        if journal is not None:
            self._replay(journal.ended.get(self.run.path, {}))

    def _replay(self, ended: dict[str, None]) -> None:
        """Bring the graph to where the journal left it, in the order in which its runs ended then."""
        waiting: dict[str, NodeRun] = {}
        for path in ended:
            while self.ready:
                run = self.ready.popleft()
                waiting[run.path] = run
            known = waiting.pop(path, None)
            if known is not None and recall(known):
                self._complete(known)
        self.ready.extendleft(reversed(waiting.values()))
        left: list[NodeRun] = []
        while self.ready:
            run = self.ready.popleft()
            if recall(run):
                self._recalled(run)
            else:
                left.append(run)
        self.ready.extend(left)

    def _recalled(self, run: NodeRun) -> list[Event]:
        """Take over a run whose outcome the journal had."""
        self._complete(run)
        return _NOTHING

    def _follow(self, step: Step, output: Any, route: Any, branch: str | None) -> None:
        """Trigger what follows a node; several get a sub-branch each."""
        targets = step.following(route)
        several = len(targets) > 1
        for target in targets:
            if not target.node.joins:
                self.ready.append(self._new_run(target, output, branch, several))
                continue
            joined = self.joins.arrive(target, step.name, output, branch)
            if joined is not None:
                self.ready.append(self._new_run(target, *joined, False))

    def _new_run(self, step: Step, node_input: Any, branch: str | None, sub_branch: bool) -> NodeRun:
        own = self.run
        count = self.counts[step.name] = self.counts.get(step.name, 0) + 1
        run = NodeRun(step.node, str(count), own, own.tree, self.meeting, node_input, branch)
        if sub_branch:
            run.branch = f"{branch}.{run.key}" if branch else run.key
        if step.terminal:
            run.ends(own)
        elif own.tree.journal is not None:
            run.chooses = step.chooses
        return run

    def _complete(self, run: NodeRun) -> None:
        """Note the end of a run, and trigger what follows."""
        name = run.node.name
        if run.interrupts:
            self.busy.add(name)
            self.open.extend(run.interrupts)
            return
        run.settle()
        self.busy.discard(name)
        if self.later and (later := self.later.get(name)):
            self.ready.append(later.popleft())
        if run.output is None and run.node.wait_for_output:
            return
        if not run.terminal:
            self._follow(self.steps[name], run.output, run.route, run.branch)
        elif run.produced:
            self.outputs[name] = run.output
            if len(self.outputs) > 1:
                raise self._too_many(self.outputs)

    # Running it.

    async def events(self) -> Events:
        """The events of the nodes, in the order in which they come."""
        tree = self.run.tree
        try:
            while True:
                running = len(self.tasks) - self.kept
                if self.ready and (self.limit is None or running < self.limit):
                    run = self.ready.popleft()
                    steps = self._begin(self.steps[run.node.name], run)
                    if steps is None:
                        await await_call(run, self.steps[run.node.name].call)
                        steps = self._conclude(run)
                elif running:
                    steps = self._arrived(*await self.meeting.next())
                elif self.held:
                    steps = self._release()
                else:
                    return
                if isinstance(steps, list):
                    for event in steps:
                        yield event
                    continue
                async with aclosing(steps) as events:
                    async for event in events:
                        if tree.checkpoint:
                            tree.pin(event)
                        yield event
        finally:
            await self.meeting.close()

    def _begin(self, step: Step, run: NodeRun) -> list[Event] | Events | None:
        """Start a run; the events that it will have. None: its function is to be awaited here."""
        if step.name in self.busy:
            self.later.setdefault(step.name, deque()).append(run)
            return _NOTHING
        if self.run.tree.journal is not None and recall(run):
            return self._recalled(run)
        if step.in_place and not self.observed:
            return self._call(step, run)
        self.busy.add(step.name)
        awaitable = step.awaitable and not self.observed
        if self.ready or self.tasks or step.starts_nodes:
            work = await_call(run, step.call) if awaitable else self.meeting.produce(perform(run))
            self.tasks[self.meeting.start(work)] = run
            return _NOTHING
        return None if awaitable else self._perform(run)

    def _call(self, step: Step, run: NodeRun) -> list[Event] | Events:
        """Run a function in place."""
        try:
            run.pending = result = step.call(run)
        except Exception as error:  # noqa: BLE001 - the border to a node's code
            run.failure = error
        else:
            if result.__class__ not in ATOMS and inspect.isawaitable(result):
                self.busy.add(step.name)
                self.tasks[self.meeting.start(await_call(run, lambda _: result))] = run
                return _NOTHING
        return self._conclude(run)

    def _conclude(self, run: NodeRun) -> list[Event] | Events:
        """The events of a function that was called."""
        node = run.node
        run.called = False
        if run.failure is None:
            try:
                assert isinstance(node, FunctionNode)
                event = node.outcome(run, run.pending) or run.writes_event()
                events = [] if event is None else [event]
                if run.unsent_output or run.unsent_route or run.question or run.children or run.context_made:
                    events += conclusion(run)
            except Exception as error:  # noqa: BLE001 - likewise: what it gave does not fit
                run.failure = error
        if run.failure is not None:
            return self._failed(run, run.failure)
        if self.checked and run.terminal and run.produced and self._contested(0):
            self._hold(events, run)
            return _NOTHING
        self._complete(run)
        return self._pinned(events, run)

    def _failed(self, run: NodeRun, failure: Exception) -> list[Event] | Events:
        """What follows a first attempt that failed: perhaps others, beside which the other runs go on."""
        self.busy.add(run.node.name)
        retry = run.node.retry_config
        again = retry is not None and retry.delay(failure, run.attempt) is not None
        alone = not self.tasks
        if alone and not (again and (self.ready or self.steps[run.node.name].starts_nodes)):
            return self._perform(run, failure)
        self.tasks[self.meeting.start(self.meeting.produce(perform(run, failure)))] = run
        return self._first_arrival() if alone else _NOTHING

    async def _first_arrival(self) -> Events:
        """The error of the only task, before the runs that are ready start beside its next attempt."""
        event, future = await self.meeting.next()
        if event is not None:
            yield event
            committed(future)

    async def _perform(self, run: NodeRun, failure: Exception | None = None) -> Events:
        """The events of a run that nothing runs beside."""
        async with aclosing(perform(run, failure)) as events:
            async for event in events:
                if self.outputs.keys() - {run.node.name} and self._is_output(event):
                    raise self._too_many({*self.outputs, run.node.name})
                yield event
        self._complete(run)
        for event in self._silent(run):
            yield event

    def _pinned(self, events: list[Event], run: NodeRun) -> list[Event]:
        """`events` of a run that is over, the last of them with the checkpoint.

        In a resumable app, a run without any is noted at once: what it did must not be done again.
        """
        tree = self.run.tree
        if events:
            if tree.checkpoint:
                tree.pin(events[-1])
        elif tree.silent and tree.resumable:
            return [tree.checkpoint_event(self.run)]
        return events

    def _silent(self, run: NodeRun) -> list[Event]:
        return _NOTHING if run.produced else self._pinned([], run)

    def _arrived(self, event: Event | None, ended: Any) -> list[Event] | Events:
        """Take what arrived: an event of a run in a task, or its end."""
        if event is None:
            run = self.tasks.pop(ended)
            ended.result()
            if run.called:
                return self._conclude(run)
            self._complete(run)
            return self._silent(run)
        if self.checked and self._is_output(event) and self._contested(1):
            self._hold([event], None, ended)
            return _NOTHING
        return self._handed_over(event, ended)

    @staticmethod
    async def _handed_over(event: Event, future: Any) -> Events:
        yield event
        committed(future)

    # A graph has one output.

    def _is_output(self, event: Event) -> bool:
        return not event.partial and self.run.path in (event.node_info.output_for or ())

    def _contested(self, tasks: int) -> bool:
        """Whether another output came or may come, where as many `tasks` are those of the one at hand."""
        return bool(self.outputs or self.held or self.ready or len(self.tasks) > tasks)

    def _too_many(self, names: Iterable[str]) -> ValueError:
        return ValueError(
            f"workflow {self.run.node.name!r}: the terminal nodes {sorted(names)} each gave an output, "
            f"and a workflow has one at most: join them, or let only one give an output"
        )

    def _hold(self, events: list[Event], run: NodeRun | None, future: Any = None) -> None:
        """Keep an output back while others may come: two are refused before either is committed."""
        self.held.append((events, run, future))
        self.kept += future is not None
        names = set(self.outputs)
        prefix = len(self.run.path) + 1
        outputs = [event for waiting, _, _ in self.held for event in waiting if self._is_output(event)]
        names.update(event.node_info.path[prefix:].split("/")[0].rpartition("@")[0] for event in outputs)
        if len(names) > 1:
            raise self._too_many(names)

    async def _release(self) -> Events:
        """Let go of the outputs that were held, now that no other can come."""
        held, self.held = self.held, []
        for events, run, future in held:
            if run is not None:
                self._complete(run)
                events = self._pinned(events, run)
            for event in events:
                yield event
            if future is not None:
                self.kept -= 1
                committed(future)
