"""NodeRun: one run of one node, from its input to its output."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from newel.events.request_input import RequestInput
from newel.workflow._node_state import COMPLETED, WAITING
from newel.workflow.coercion import plain
from newel.workflow.context import NodeContext
from newel.workflow.state_schema import check_delta
from newel_kernel.events import Event, NodeInfo

if TYPE_CHECKING:
    from newel.workflow._base_node import BaseNode
    from newel.workflow.journal import Record
    from newel.workflow.meeting import Meeting
    from newel.workflow.tree import Tree


#: What `begin_attempt` forgets.
_OF_AN_ATTEMPT = (
    "called", "pending", "failure", "question", "output", "produced", "unsent_output", "route", "unsent_route",
    "interrupts", "delegated", "context_made", "children", "counts",
)  # fmt: skip


class NodeRun:
    """One run of `node`: where it stands in the tree of runs, and what came of it."""

    # What most runs never touch stands on the class: a run is made for every step of every graph.

    #: Whether its output is also that of its parent.
    terminal = False
    #: Whether its route decides what follows.
    chooses = False
    #: The answers to its questions, where it runs again with them.
    answers: Mapping[str, Any] = MappingProxyType({})
    #: The session's index of its first event, where it ran before.
    since: int | None = None
    #: Why it failed for good, and where.
    error: Exception | None = None
    error_path: str | None = None
    #: Whether the checkpoint says that it is over.
    recorded = False
    attempt = 1
    #: Whether its function was called and nothing was made of it yet: of what it gave, raised or asked.
    called = False
    pending: Any = None
    failure: Exception | None = None
    question: RequestInput | None = None
    #: What came of the attempt.
    output: Any = None
    produced = False
    unsent_output = False
    route: Any = None
    unsent_route = False
    #: The ids of the questions that are open.
    interrupts: Sequence[str] = ()
    #: Whether a run that its code started gives its output.
    delegated = False
    context_made: NodeContext | None = None
    #: The runs that its code started, by their path: each with its task, where it really runs.
    children: dict[str, tuple[NodeRun, asyncio.Task[None] | None]] | None = None
    #: How many of them there are of each node's name.
    counts: dict[str, int] | None = None

    def __init__(
        self, node: BaseNode, run_id: str, parent: NodeRun | None, tree: Tree, meeting: Meeting, node_input: Any = None,
        branch: str | None = None,
    ) -> None:  # fmt: skip
        self.node = node
        self.run_id = run_id
        self.key = key = f"{node.name}@{run_id}"
        self.parent = parent
        self.tree = tree
        self.meeting = meeting
        self.input = node_input
        self.branch = branch
        if parent is None:
            self.path = key
            self.author = node.name
            self.state_schema = node.state_schema
            self.scope: str | None = tree.invocation.isolation_scope
        else:
            self.path = f"{parent.path}/{key}"
            self.author = node.name if node.is_graph else parent.author
            self.state_schema = node.state_schema or parent.state_schema
            self.scope = parent.scope
        #: The paths of those whose output this run's is: its own, and those that it ends.
        self.output_for = [self.path]

    def begin_attempt(self) -> None:
        """Start anew: nothing came of the attempt before."""
        self.attempt += 1
        for name in _OF_AN_ATTEMPT:
            self.__dict__.pop(name, None)

    @property
    def context(self) -> NodeContext:
        """What the node's code sees of this run; made when first asked for."""
        if self.context_made is None:
            self.context_made = NodeContext(self)
        return self.context_made

    def ends(self, parent: NodeRun) -> None:
        """Note that this run's output is its parent's as well."""
        self.terminal = True
        self.output_for = self.output_for + parent.output_for

    # What comes out of a node.

    def set_output(self, value: Any) -> None:
        """Note the output; there is one at most."""
        if self.produced:
            raise ValueError(f"node {self.path} has an output already: a node produces at most one output")
        self.output = self.node.fit_output(value)
        self.produced = True

    def take(self, item: Any) -> Event | None:
        """The event that something yielded by the node becomes, ready to be committed; None where it is nothing."""
        if isinstance(item, Event):
            return self.stamp(item)
        if item is None:
            return None
        if isinstance(item, RequestInput):
            return self.stamp(item.as_event())
        self.set_output(item)
        return None if self.delegated else self.output_event()

    def output_event(self) -> Event:
        """The event that carries the output, and what was written to the state."""
        event = Event(
            invocation_id=self.tree.invocation_id, author=self.author, output=plain(self.output),
            node_info=NodeInfo(self.path, self.output_for), branch=self.branch, isolation_scope=self.scope,
        )  # fmt: skip
        if self.unsent_route:
            event.node_info.route = self.route
        if self.context_made is not None:
            self._add_writes(event)
        return event

    def stamp(self, event: Event) -> Event:
        """`event`, which the node made, with its place in the graph; what it means for the run is noted."""
        event.invocation_id = self.tree.invocation_id
        event.author = self.author
        event.branch = self.branch
        event.isolation_scope = self.scope
        info = event.node_info
        info.path = self.path
        actions = event.touched_actions
        if actions is not None:
            if self.state_schema is not None and actions.state_delta:
                check_delta(actions.state_delta, self.state_schema)
            if actions.route is not None:
                self.route, self.unsent_route = actions.route, False
        if event.output is not None:
            self.set_output(event.output)
            event.output = plain(self.output)
            info.output_for = self.output_for
        if event.partial:
            return event
        self.note_questions(event)
        self._add_writes(event)
        return event

    def note_questions(self, event: Event) -> None:
        """Note what `event` asks of the outside."""
        for waiting in sorted(event.long_running_tool_ids or ()):
            if waiting not in self.interrupts:
                self.interrupts = [*self.interrupts, waiting]

    def _add_writes(self, event: Event) -> None:
        """Put onto `event` what the node's code has written since the last one."""
        context = self.context_made
        written = context.touched_actions if context is not None else None
        if written is None or not (written.state_delta or written.artifact_delta):
            return
        actions = event.actions
        actions.state_delta = {**written.state_delta, **actions.state_delta}
        actions.artifact_delta = {**written.artifact_delta, **actions.artifact_delta}
        written.state_delta.clear()
        written.artifact_delta.clear()

    def writes_event(self) -> Event | None:
        """An event of what was written and not sent yet, or None."""
        context = self.context_made
        written = context.touched_actions if context is not None else None
        if written is None or not (written.state_delta or written.artifact_delta):
            return None
        return self.stamp(self.bare_event())

    def last_event(self) -> Event | None:
        """The event of what is left when the node is done: an output or a route that was only set, and writes."""
        if not self.unsent_output and not self.unsent_route:
            return self.writes_event()
        event = self.output_event() if self.unsent_output and not self.delegated else self.bare_event()
        if self.unsent_route:
            event.actions.route = self.route
        self._add_writes(event)
        self.unsent_output = self.unsent_route = False
        return event

    def bare_event(self) -> Event:
        """An event of this run that says nothing yet."""
        return Event(
            invocation_id=self.tree.invocation_id, author=self.author, node_info=NodeInfo(self.path),
            branch=self.branch, isolation_scope=self.scope,
        )  # fmt: skip

    def error_event(self, error: Exception) -> Event:
        """The event that tells of a failed attempt."""
        event = self.bare_event()
        event.error_code = type(error).__name__
        event.error_message = str(error)
        self._add_writes(event)
        return event

    # How it ended.

    @property
    def waits(self) -> bool:
        """Whether questions are open."""
        return bool(self.interrupts)

    def settle(self) -> None:
        """Note in the checkpoint that the run is over, unless questions are open."""
        if self.interrupts or self.recorded:
            return
        self.recorded = True
        tree = self.tree
        if self.produced:
            tree.checkpoint[self.path] = COMPLETED
            return
        tree.checkpoint[self.path] = WAITING if self.node.wait_for_output else COMPLETED
        if not self.node.is_graph:
            tree.silent = True

    def recall(self, record: Record) -> None:
        """Take over the outcome that the journal holds."""
        if record.output_event is not None:
            self.output = self.node.fit_output(self.node.recall_output(record.output_event, self.path))
            self.produced = True
        self.route = record.route
