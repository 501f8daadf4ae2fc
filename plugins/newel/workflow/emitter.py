"""Emitter: makes the events of a run from what its node yields, sets and writes."""

from __future__ import annotations

from newel.contexts.model_data import plain
from newel.events.request_input import RequestInput
from newel.workflow._base_node import BaseNode
from newel.workflow.context import NodeContext
from newel.workflow.outcome import Outcome
from newel.workflow.place import Place
from newel.workflow.state_schema import Schema, check_delta
from newel.workflow.tree import Tree
from newel_kernel import Event, EventActions, NodeInfo
from newel_types import ATOMS


class Emitter:
    """The events of a run of `node`, each with its place in the graph. They update `outcome`."""

    __slots__ = ("made_context", "node", "outcome", "place", "state_schema", "tree")

    def __init__(self, node: BaseNode, tree: Tree, place: Place, state_schema: Schema | None) -> None:
        self.node = node
        self.tree = tree
        self.place = place
        self.state_schema = state_schema
        self.outcome = Outcome()
        #: What the node's code sees of the run; made on first use.
        self.made_context: NodeContext | None = None

    def give(self, value: object) -> None:
        """Note the output; ValueError if there is one."""
        outcome = self.outcome
        if outcome.produced:
            raise ValueError(f"node {self.place.path} has an output already: a node produces at most one output")
        outcome.output = self.node._validate_output_data(value)
        outcome.produced = True

    def take(self, item: object) -> Event | None:
        """The event of an item that the node yields, ready to be committed; None if there is none."""
        if item is None:
            return None
        if item.__class__ not in ATOMS:
            if isinstance(item, Event):
                return self.stamp(item)
            if isinstance(item, RequestInput):
                return self.stamp(item.as_event())
        self.give(item)
        return None if self.outcome.delegated else self._output_event()

    def stamp(self, event: Event) -> Event:
        """`event`, which the node made, with its place in the graph; the outcome of the run is updated by it."""
        self.place.mark(event, self.tree.invocation_id)
        actions = event.touched_actions
        if actions is not None:
            if self.state_schema is not None and actions.state_delta:
                check_delta(actions.state_delta, self.state_schema)
            if actions.route is not None:
                self.outcome.route, self.outcome.unsent_route = actions.route, False
        if event.output is not None:
            self.give(event.output)
            event.output = plain(self.outcome.output)
            event.node_info.output_for = self.place.output_for
        if event.partial:
            return event
        self.note_questions(event)
        self._add_writes(event)
        return event

    def note_questions(self, event: Event) -> None:
        """Record the questions that `event` asks."""
        if event.long_running_tool_ids:
            self.outcome.ask(sorted(event.long_running_tool_ids))

    def writes_event(self) -> Event | None:
        """An event of the writes that no event carries yet, or None."""
        return None if self._unsent_writes() is None else self.stamp(self._bare_event())

    def last_event(self) -> Event | None:
        """The last event of a run: an output or a route that no event carries yet, and writes."""
        outcome = self.outcome
        if not outcome.unsent_output and not outcome.unsent_route:
            return self.writes_event()
        event = self._output_event() if outcome.unsent_output and not outcome.delegated else self._bare_event()
        if outcome.unsent_route:
            event.actions.route = outcome.route
        self._add_writes(event)
        outcome.unsent_output = outcome.unsent_route = False
        return event

    def error_event(self, error: Exception) -> Event:
        """The event of a failed attempt."""
        event = self._bare_event()
        event.error_code = type(error).__name__
        event.error_message = str(error)
        self._add_writes(event)
        return event

    def _bare_event(self) -> Event:
        return self.place.event(self.tree.invocation_id)

    def _output_event(self) -> Event:
        """The event that carries the output, and what was written to the state."""
        place, outcome = self.place, self.outcome
        event = Event(
            invocation_id=self.tree.invocation_id,
            author=place.author,
            output=plain(outcome.output),
            node_info=NodeInfo(place.path, place.output_for),
            branch=place.branch,
            isolation_scope=place.scope,
        )
        if outcome.unsent_route:
            event.node_info.route = outcome.route
        if self.made_context is not None:
            self._add_writes(event)
        return event

    def _unsent_writes(self) -> EventActions | None:
        """The writes of the node's code since the last event, or None."""
        writes = None if self.made_context is None else self.made_context.touched_actions
        return writes if writes is not None and (writes.state_delta or writes.artifact_delta) else None

    def _add_writes(self, event: Event) -> None:
        """Put the writes of the node's code since the last event onto `event`."""
        writes = self._unsent_writes()
        if writes is None:
            return
        actions = event.actions
        actions.state_delta = {**writes.state_delta, **actions.state_delta}
        actions.artifact_delta = {**writes.artifact_delta, **actions.artifact_delta}
        writes.state_delta.clear()
        writes.artifact_delta.clear()
