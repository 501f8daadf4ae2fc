"""GraphRun: one run of a graph. It starts nodes as their triggers come, and passes their events on.

A function that waits for nothing runs in place, without a task. A node that is ready alone is iterated directly.
Only nodes that run side by side, and those whose code may run others, get tasks, which meet in a `Meeting`.
"""

from __future__ import annotations

import asyncio
import inspect
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from mortise.workflow.function_node import FunctionNode
from mortise.workflow.graph import Graph
from mortise.workflow.joining import Joins
from mortise.workflow.meeting import Meeting, committed
from mortise.workflow.node_run import NodeRun
from mortise.workflow.performing import perform
from mortise.workflow.recalling import recall
from mortise_kernel.events import Event
from mortise_kernel.types.hot import ATOMS

Events = AsyncGenerator[Event, None]
#: Events that wait until it is certain that they hold the graph's only output, and how their producer goes on.
Held = tuple[list[Event], NodeRun | None, Any]


class GraphRun:
    """One run of `graph` as the node run `run`."""

    def __init__(self, run: NodeRun, graph: Graph, max_concurrency: int | None) -> None:
        self.run = run
        self.graph = graph
        self.limit = max_concurrency
        self.meeting = Meeting()
        self.ready: deque[NodeRun] = deque()
        self.tasks: dict[asyncio.Task[None], NodeRun] = {}
        self.counts: dict[str, int] = {}
        self.joins = Joins(graph)
        #: Nodes that run or wait for an answer, and the runs that wait for them: a node does one thing at a time.
        self.busy: set[str] = set()
        self.later: dict[str, deque[NodeRun]] = {}
        self.open: list[str] = []
        self.outputs: dict[str, Any] = {}
        self.held: list[Held] = []
        self.checked = len(graph.terminal_names) > 1

    # What is to run.

    def start(self, node_input: Any) -> None:
        """Trigger the first nodes; then do over what the journal knows to be done."""
        self.follow("__START__", node_input, None, self.run.branch)
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
            run_or_none = waiting.pop(path, None)
            if run_or_none is not None and recall(run_or_none):
                self.complete(run_or_none)
        self.ready.extendleft(reversed(waiting.values()))
        left: list[NodeRun] = []
        while self.ready:
            run = self.ready.popleft()
            if recall(run):
                if run.waits:
                    self.busy.add(run.node.name)
                self.complete(run)
            else:
                left.append(run)
        self.ready.extend(left)

    def follow(self, name: str, output: Any, route: Any, branch: str | None) -> None:
        """Trigger what follows a node; several get a sub-branch each."""
        targets = self.graph.following(name, route)
        several = len(targets) > 1
        for target in targets:
            node = self.graph.node(target)
            if node.joins:
                joined = self.joins.arrive(target, name, output, branch)
                if joined is None:
                    continue
                self.ready.append(self._new_run(target, *joined, sub_branch=False))
            else:
                self.ready.append(self._new_run(target, output, branch, sub_branch=several))

    def _new_run(self, name: str, node_input: Any, branch: str | None, *, sub_branch: bool) -> NodeRun:
        count = self.counts[name] = self.counts.get(name, 0) + 1
        run = NodeRun(self.graph.node(name), str(count), self.run, self.run.tree, self.meeting, node_input, branch)
        if sub_branch:
            run.branch = f"{branch}.{run.key}" if branch else run.key
        if name in self.graph.terminal_names:
            run.ends(self.run)
        return run

    def complete(self, run: NodeRun) -> None:
        """Note the end of a run, and trigger what follows."""
        name = run.node.name
        if run.interrupts:  # the node stays busy
            self.open.extend(run.interrupts)
            return
        run.settle()
        self.busy.discard(name)
        if self.later and (later := self.later.get(name)):
            self.ready.append(later.popleft())
        if run.output is None and run.node.wait_for_output:
            return
        if not run.terminal:
            self.follow(name, run.output, run.route, run.branch)
        elif run.produced:
            self.outputs[name] = run.output

    # Running it.

    async def events(self) -> Events:
        """The events of the nodes, in the order in which they come."""
        tree = self.run.tree
        try:
            while True:
                if self.ready and (self.limit is None or len(self.tasks) < self.limit):
                    steps = self._begin(self.ready.popleft())
                elif len(self.tasks) > sum(1 for held in self.held if held[2] is not None):
                    steps = self._arrival()
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

    def _begin(self, run: NodeRun) -> list[Event] | Events:
        """Start a run; the events that it has at once, or will have."""
        node = run.node
        if node.name in self.busy:
            self.later.setdefault(node.name, deque()).append(run)
            return []
        if isinstance(node, FunctionNode) and node.in_place:
            return self._call(node, run)
        self.busy.add(node.name)
        if self.ready or self.tasks or node.starts_nodes:
            self.tasks[self.meeting.start(self.meeting.produce(perform(run)))] = run
            return []
        return self._direct(run)

    def _call(self, node: FunctionNode, run: NodeRun) -> list[Event] | Events:
        """Run a function in place."""
        try:
            result = node.call(run)
            if result.__class__ not in ATOMS and inspect.isawaitable(result):
                run.pending = result
                self.busy.add(node.name)
                return self._direct(run)
            event = node.outcome(run, result) or run.writes_event()
            last = run.last_event()
        except Exception as error:  # noqa: BLE001 - the border to a node's code
            self.busy.add(node.name)
            return self._direct(run, error)
        events = [one for one in (event, last) if one is not None]
        if self.checked and run.terminal and run.produced and (self.ready or self.tasks or self.held):
            self._hold(events, run)
            return []
        self.complete(run)
        return self._pinned(events, run)

    def _pinned(self, events: list[Event], run: NodeRun) -> list[Event]:
        """`events` of a run that is over, the last of them with the checkpoint."""
        tree = self.run.tree
        if events:
            tree.pin(events[-1])
        elif tree.resumable and tree.checkpoint:
            events.append(tree.checkpoint_event(self.run))
        return events

    async def _direct(self, run: NodeRun, failure: Exception | None = None) -> Events:
        """The events of a run that nothing runs beside."""
        if failure is not None and self.tasks:  # a retry must not keep the others waiting
            self.tasks[self.meeting.start(self.meeting.produce(perform(run, failure)))] = run
            return
        async with aclosing(perform(run, failure)) as events:
            async for event in events:
                yield event
        self.complete(run)
        for event in self._silent(run):
            yield event

    def _silent(self, run: NodeRun) -> list[Event]:
        """In a resumable app, a run that left no output behind is noted at once: it must not be done again."""
        return [] if run.produced else self._pinned([], run)

    async def _arrival(self) -> Events:
        """Take what arrives next: an event of a run in a task, or its end."""
        event, ended = await self.meeting.next()
        if event is None:
            run = self.tasks.pop(ended)
            ended.result()
            self.complete(run)
            for noted in self._silent(run):
                yield noted
        elif self.checked and self._is_output(event) and (self.ready or len(self.tasks) > 1 or self.held):
            self._hold([event], None, ended)
        else:
            yield event
            committed(ended)

    # A graph has one output.

    def _is_output(self, event: Event) -> bool:
        return not event.partial and self.run.path in (event.node_info.output_for or ())

    def _hold(self, events: list[Event], run: NodeRun | None, future: Any = None) -> None:
        """Keep an output back while others may come: two are refused before either is committed."""
        self.held.append((events, run, future))
        names = set(self.outputs)
        prefix = len(self.run.path) + 1
        for waiting, _, _ in self.held:
            names.update(e.node_info.path[prefix:].split("/")[0].rpartition("@")[0] for e in waiting if self._is_output(e))
        if len(names) > 1:
            raise ValueError(
                f"workflow {self.run.node.name!r}: the terminal nodes {sorted(names)} each gave an output, "
                f"and a workflow has one at most: join them, or let only one give an output"
            )

    async def _release(self) -> Events:
        """Let go of the outputs that were held, now that no other can come."""
        held, self.held = self.held, []
        for events, run, future in held:
            if run is not None:
                self.complete(run)
                events = self._pinned(events, run)
            for event in events:
                yield event
            if future is not None:
                committed(future)
