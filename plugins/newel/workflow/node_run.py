"""NodeRun: one run of a node, attempt after attempt, with the runs that its code starts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from types import MappingProxyType
from typing import Unpack

from newel.contexts.stash_keys import SECRETS
from newel.events.request_input import RequestInput
from newel.turns.steps import StepLimitError
from newel.workflow._base_node import BaseNode
from newel.workflow._errors import DynamicNodeFailError, NodeInterruptedError
from newel.workflow._node_state import COMPLETED, WAITING
from newel.workflow.children import Children
from newel.workflow.context import NodeContext
from newel.workflow.emitter import Emitter
from newel.workflow.factory import build_node
from newel.workflow.meeting import Meeting
from newel.workflow.outcome import Outcome
from newel.workflow.place import Place, Placement
from newel.workflow.recollection import recollect
from newel.workflow.timeout import limited
from newel.workflow.tree import Tree
from newel_kernel import Event, current_operation

Events = AsyncGenerator[Event, None]


@dataclass(frozen=True, slots=True)
class NoResult:
    """Why a node's function has no result: it failed, or it asked a question."""

    failure: Exception | None = None
    question: RequestInput | None = None


class NodeRun(Emitter):
    """One run of `node`, from its input to its outcome.

    Every run goes through `events`, except for functions that a graph calls itself when nothing observes them.
    """

    # Fields that most runs never set are class attributes: a run is made for every step of every graph.

    __slots__ = ("__dict__", "children", "input", "meeting", "parent", "recorded")

    answers: Mapping[str, object] = MappingProxyType({})
    since: int | None = None
    attempt = 1
    failure: DynamicNodeFailError | None = None
    #: The task that drives it, if another node's code started it.
    task: asyncio.Task[None] | None = None

    def __init__(
        self,
        node: BaseNode,
        run_id: str,
        tree: Tree,
        meeting: Meeting,
        node_input: object,
        branch: str | None,
        parent: NodeRun | None = None,
    ) -> None:
        name, schema = node.name, node.state_schema
        if parent is None:
            place = Place(name, run_id, name, branch, tree.invocation.isolation_scope)
        else:
            around = parent.place
            place = Place(
                name, run_id, name if node.__newel_is_graph__ else around.author, branch, around.scope, around
            )
            schema = schema or parent.state_schema
        Emitter.__init__(self, node, tree, place, schema)  # `super()` takes as long as the rest
        self.parent = parent
        self.meeting = meeting
        self.input = node_input
        #: Whether the checkpoint says that it is over.
        self.recorded = False
        #: The runs that its code started.
        self.children: Children[NodeRun] | None = None

    @property
    def context(self) -> NodeContext:
        """What the node's code sees of this run; made on first use."""
        if self.made_context is None:
            self.made_context = NodeContext(self)
        return self.made_context

    # Its attempts.

    def events(self, failure: Exception | None = None) -> Events:
        """The run's events: those of its attempts, and an error event for each attempt that failed.

        With `failure` the first attempt is over already. A run that fails after its retries raises
        DynamicNodeFailError, which the runs around it do not report again. A cancelled run is neither reported nor
        retried, whatever the node's code raised. Specified in docs/reference/behaviour.md#graphs.
        """
        events = self._attempts(failure)
        if (parent := current_operation.get()) is not None:
            ctx = self.tree.invocation
            return parent.child("node", self.node.name, ctx, subject=self.node, input=self.input).stream(events)
        return events

    async def _attempts(self, failure: Exception | None) -> Events:
        if isinstance(failure, DynamicNodeFailError):
            raise failure
        while True:
            if failure is None:
                attempt = self._attempt()
                try:
                    async for event in attempt:
                        yield event
                except DynamicNodeFailError as error:
                    self.failure = error
                    raise
                except Exception as error:  # noqa: BLE001 - the border to a node's code
                    failure = error
                finally:
                    await attempt.aclose()
            if failure is None:
                return
            if self.tree.cancelled:
                raise asyncio.CancelledError from failure  # the node's code turned the cancellation into this
            masked = self._masked(failure)
            yield self.error_event(masked)
            delay = self.retry_delay(failure)
            if delay is None:
                self.failure = DynamicNodeFailError(masked, self.place.path)
                raise self.failure from masked
            failure = None
            await asyncio.sleep(delay)
            self._begin_attempt()

    def retry_delay(self, failure: Exception) -> float | None:
        """Seconds until the next attempt, if `failure` is followed by one."""
        retry = self.node.retry_config
        return None if retry is None or isinstance(failure, StepLimitError) else retry.delay(failure, self.attempt)

    def _masked(self, failure: Exception) -> Exception:
        """`failure` as events, logs and traces may show it: without the secrets that the invocation has handed out."""
        secrets = self.tree.invocation.stash.get(SECRETS, None)
        return failure if secrets is None else secrets.mask_error(failure)

    def _begin_attempt(self) -> None:
        """Reset what the failed attempt left."""
        self.attempt += 1
        self.outcome = Outcome()
        self.made_context = self.children = None

    async def _attempt(self) -> Events:
        """The events of one attempt, with those of its conclusion."""
        events = self.node.__newel_events__(self)
        if self.node.timeout is not None:
            events = limited(events, self.node.name, self.node.timeout)
        failed = True
        question: RequestInput | None = None
        try:
            async with aclosing(events):
                async for event in events:
                    yield event
            failed = False
        except NodeInterruptedError as interrupted:
            question, failed = interrupted.request, False
        finally:
            if self.children is not None:
                await self.children.end(cancel=failed)
        for event in self.conclusion(question):
            yield event

    async def call(self, function: Callable[[NodeRun], object]) -> object:
        """Call a coroutine function that is the whole attempt; return its result, or a NoResult."""
        failed = True
        try:
            result: object = await function(self)  # type: ignore[misc]  # it gives an awaitable
            failed = False
        except NodeInterruptedError as interrupted:
            result, failed = NoResult(question=interrupted.request), False
        except Exception as error:  # noqa: BLE001 - the border to a node's code
            result = NoResult(failure=error)
        finally:
            if self.children is not None:
                await self.children.end(cancel=failed)
        return result

    # How it ends.

    def conclusion(self, question: RequestInput | None) -> list[Event]:
        """The events that end an attempt and the run: a question, an output or route that was only set, writes."""
        events: list[Event] = []
        if question is not None:
            events.append(self.stamp(question.as_event()))
        last = self.last_event()
        if last is not None:
            events.append(last)
        if self.children is not None:
            self.children.adopt(self.outcome)
        if events:
            self.settle()  # so that the last event says so
        return events

    def settle(self) -> None:
        """Record in the checkpoint that the run is over, unless questions are open."""
        outcome = self.outcome
        if outcome.interrupts or self.recorded:
            return
        self.recorded = True
        state = WAITING if self.node.wait_for_output and not outcome.produced else COMPLETED
        self.tree.checkpoint.note(self.place.path, state, not (outcome.produced or self.node.__newel_is_graph__))

    def recall(self, chooses: bool = False) -> bool:
        """Take over the journal's record of this run; True if the run is over, and must not run again.

        `chooses`: its route decides what follows.
        """
        journal = self.tree.journal
        past = None if journal is None else recollect(journal, self.node, self.place, chooses)
        if past is None:
            return False
        self.recorded, self.since = past.recorded, past.since
        if past.answers is not None:
            self.answers = past.answers
        outcome = self.outcome
        if past.produced:
            outcome.give(past.output)
        if past.over:
            outcome.route, outcome.interrupts = past.route, past.interrupts
        if past.answered and self.parent is not None:
            self.place.branch = self.parent.place.branch  # what follows an answer is on the branch of the graph
        return past.over

    # What its code runs.

    def start_child(
        self, node: object, node_input: object, *, run_id: str | None = None, **placement: Unpack[Placement]
    ) -> NodeRun:
        """Start a run of a node within this one. A run whose outcome is in the journal does not run again."""
        target = build_node(node)
        children = self._own_children()
        if run_id is None:
            run_id = children.next_id(target.name)
        elif run_id.isdecimal():
            raise ValueError(
                f"the run id {run_id!r} of node {target.name!r} is a number, like the ids of unnamed runs: "
                f"put a letter in it"
            )
        child = self.child(target, node_input, run_id, **placement)
        sibling = children.get(child.place.path)
        if sibling is not None:
            return sibling
        child.begin()
        return child

    def child(self, node: object, node_input: object, run_id: str, **placement: Unpack[Placement]) -> NodeRun:
        """A run of a node within this one, not begun."""
        child = NodeRun(build_node(node), run_id, self.tree, self.meeting, node_input, self.place.branch, self)
        if placement.get("use_as_output") and self._own_children().get(child.place.path) is None:
            if self.outcome.delegated:
                raise ValueError(f"node {self.place.path} has given its output to another node already (use_as_output)")
            self.outcome.delegated = True
            child.place.share_output_with(self.place)
        child.place.move(placement)
        return child

    def _own_children(self) -> Children[NodeRun]:
        if self.children is None:
            self.children = Children()
        return self.children

    def begin(self) -> None:
        """Start in a task, unless the journal has the outcome."""
        assert self.parent is not None
        over = self.recall()
        self.parent._own_children().add(self.place.path, self)
        if over:
            self.settle()
        else:
            self.task = self.meeting.spawn(self._drive())

    async def _drive(self) -> None:
        async with aclosing(self.events()) as events:
            async for event in events:
                await self.meeting.emit(event)
        self.settle()

    async def result(self) -> object:
        """The output, once it is over, or what it raised; NodeInterruptedError if it waits for an answer."""
        await self.end()
        if self.outcome.interrupts:
            raise NodeInterruptedError()
        return self.outcome.output

    async def end(self) -> None:
        """Wait until it is over. If the caller is cancelled meanwhile, cancel it."""
        if self.task is None:
            return
        try:
            await asyncio.shield(self.task)
        except asyncio.CancelledError:
            if not self.task.done():
                self.task.cancel()
                await asyncio.gather(self.task, return_exceptions=True)
            raise
