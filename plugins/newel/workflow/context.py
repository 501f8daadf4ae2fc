"""NodeContext: the context that the code of a graph node gets; and Run, the run behind it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Protocol, Unpack, cast

from newel.contexts.context import Context, Routes
from newel.contexts.generics import DepsOut
from newel.events.request_input import RequestInput
from newel.events.text import text_of
from newel.workflow._errors import DynamicNodeFailError, NodeInterruptedError
from newel.workflow.children import Child
from newel.workflow.outcome import Outcome
from newel.workflow.place import Place, Placement
from newel.workflow.state_schema import CheckedState, Schema
from newel.workflow.tree import Tree
from newel_kernel import Event, State
from newel_types import Content


class NodeFacts(Protocol):
    """The part of every node that its run's code reads."""

    name: str
    description: str
    rerun_on_resume: bool


class Run(Protocol):
    """One run of a node, as the node and its code see it."""

    place: Place
    outcome: Outcome
    tree: Tree
    input: object
    state_schema: Schema | None
    #: The answers to its questions, if it runs again with them.
    answers: Mapping[str, object]
    #: The session's index of its first event, if it ran before.
    since: int | None
    #: The number of this attempt, from 1.
    attempt: int
    #: Why it failed for good.
    failure: DynamicNodeFailError | None

    @property
    def node(self) -> NodeFacts:
        """The node."""

    @property
    def parent(self) -> Run | None:
        """The run that this one is part of."""

    @property
    def context(self) -> NodeContext:
        """What the node's code sees of this run."""

    def give(self, value: object) -> None:
        """Note the output; ValueError if there is one."""

    def take(self, item: object) -> Event | None:
        """The event of an item that the node yields, ready to be committed; None if there is none."""

    def stamp(self, event: Event) -> Event:
        """`event`, which the node made, with its place in the graph; the outcome of the run is updated by it."""

    def writes_event(self) -> Event | None:
        """An event of the writes that no event carries yet, or None."""

    def note_questions(self, event: Event) -> None:
        """Record the questions that `event` asks."""

    def settle(self) -> None:
        """Record in the checkpoint that the run is over, unless questions are open."""

    def start_child(
        self, node: object, node_input: object, *, run_id: str | None = None, **placement: Unpack[Placement]
    ) -> ChildRun:
        """Start a run of a node within this one. A run whose outcome is in the journal does not run again."""


class ChildRun(Child, Protocol):
    """A run that code started, as that code sees it."""

    async def result(self) -> object:
        """The output, once it is over, or what it raised; NodeInterruptedError if it waits for an answer."""


class NodeContext(Context[DepsOut]):
    """The context of a node's run: its input, its output and route, other nodes to run, and what every context has."""

    __slots__ = ("_questions", "_run")

    def __init__(self, run: Run) -> None:
        shared = run.tree.invocation
        own = shared if run.place.branch == shared.branch else shared.model_copy(update={"branch": run.place.branch})
        super().__init__(own)
        self._run = run
        self._questions = 0

    @property
    def node(self) -> NodeFacts:
        """The node."""
        return self._run.node

    @property
    def node_input(self) -> Any:
        """The node's input; of the user's message, its text if that is all of it."""
        value = self._run.input
        if isinstance(value, Content) and all(part.text is not None for part in value.parts or ()):
            return text_of(value)
        return value

    @property
    def output(self) -> Any:
        """The node's output; set it once, or return it, or yield it."""
        return self._run.outcome.output

    @output.setter
    def output(self, value: object) -> None:
        self._run.give(value)
        self._run.outcome.unsent_output = True

    @property
    def route(self) -> Routes:
        """The route (a bool, an int, a string) or routes (a list) that the graph follows from here."""
        return cast("Routes", self._run.outcome.route)

    @route.setter
    def route(self, value: Routes) -> None:
        self._run.outcome.set_route(value)

    def emit_route(self, route: Routes) -> None:
        """Set the route."""
        self.route = route

    @property
    def state(self) -> State:
        """The session's state, which takes only what the state schema declares, if there is one."""
        if self._state is None and self._run.state_schema is not None:
            session = self._invocation_context.session
            self._state = CheckedState(session.state, self.actions.state_delta, self._run.state_schema)
        return super().state

    @property
    def resume_inputs(self) -> Mapping[str, object]:
        """The answers to the node's questions, by the question's id."""
        return MappingProxyType(self._run.answers)

    @property
    def interrupt_ids(self) -> set[str]:
        """The questions that this run has asked."""
        return set(self._run.outcome.interrupts)

    def interrupt(
        self,
        message: str | RequestInput | None = None,
        *,
        interrupt_id: str | None = None,
        payload: object = None,
        response_schema: object = None,
    ) -> Any:
        """Ask the user; return the answer, once the node runs again with it.

        Until then it raises NodeInterruptedError, which ends the run. A node that is not run again on resume has
        the answer as its output.
        """
        self._questions += 1
        if isinstance(message, RequestInput):
            request = message
        else:
            if interrupt_id is None:
                interrupt_id = f"{self.node_path}:{self._questions}:{self.invocation_id}"
            request = RequestInput(
                interrupt_id=interrupt_id, message=message, payload=payload, response_schema=response_schema
            )
        if request.interrupt_id in self._run.answers:
            return self._run.answers[request.interrupt_id]
        raise NodeInterruptedError(request)

    async def run_node(
        self,
        node: object,
        node_input: object = None,
        *,
        use_as_output: bool = False,
        run_id: str | None = None,
        use_sub_branch: bool = False,
        override_branch: str | None = None,
        override_isolation_scope: str | None = None,
    ) -> Any:
        """Run a node, a function, a tool, an agent or a graph from this node's code, and return its output.

        `run_id` names the run, so that it is recognised when this node runs again after an interruption; without
        one it is counted by the node's name. `use_as_output`: its output is this node's too. `use_sub_branch`: on a
        branch of its own, as concurrent runs need. A failure raises DynamicNodeFailError.
        """
        if not self._run.node.rerun_on_resume:
            raise ValueError(
                f"node {self.node_path} runs nodes from its code, so it needs rerun_on_resume=True: if one of them "
                f"waits for an answer, this node runs again to get it"
            )
        child = self._run.start_child(
            node,
            node_input,
            run_id=run_id,
            use_as_output=use_as_output,
            use_sub_branch=use_sub_branch,
            branch=override_branch,
            scope=override_isolation_scope,
        )
        return await child.result()

    @property
    def attempt_count(self) -> int:
        """The number of this attempt, from 1."""
        return self._run.attempt

    @property
    def node_path(self) -> str:
        """Where in the graph this run is: ``workflow@1/node@2``."""
        return self._run.place.path

    @property
    def run_id(self) -> str:
        """Which run of its node this is."""
        return self._run.place.run_id

    @property
    def event_author(self) -> str:
        """The author of the node's events."""
        return self._run.place.author

    @property
    def agent_name(self) -> str:
        """The name that the node's events bear."""
        return self._run.place.author

    @property
    def branch(self) -> str | None:
        """The branch of the node's events."""
        return self._run.place.branch

    @property
    def isolation_scope(self) -> str | None:
        """The scope of the node's events."""
        return self._run.place.scope

    @property
    def parent_ctx(self) -> NodeContext | None:
        """The context of the run that this one is part of."""
        return None if self._run.parent is None else self._run.parent.context

    @property
    def error(self) -> Exception | None:
        """Why the run failed for good, or None."""
        failure = self._run.failure
        return None if failure is None else failure.error

    @property
    def error_node_path(self) -> str:
        """Where it failed: the path of this node, or of one that it ran; empty if it did not."""
        failure = self._run.failure
        return "" if failure is None else failure.error_node_path
