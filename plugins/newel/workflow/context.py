"""NodeContext: what the code of a graph node gets."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from newel.agents.context import Context
from newel.events.request_input import RequestInput
from newel.workflow.child_runs import child_output, start_child
from newel.workflow.coercion import text_of
from newel.workflow.errors import NodeInterruptedError
from newel.workflow.state_schema import CheckedState
from newel_kernel import State
from newel_types import Content

if TYPE_CHECKING:
    from newel.workflow.base_node import BaseNode
    from newel.workflow.node_run import NodeRun


class NodeContext(Context):
    """The context of a node's run: its input, its output and route, other nodes to run, and what every context has."""

    __slots__ = ("_asked", "_run")

    def __init__(self, run: NodeRun) -> None:
        shared = run.tree.invocation
        own = shared if run.branch == shared.branch else shared.model_copy(update={"branch": run.branch})
        super().__init__(own)
        self._run = run
        self._asked = 0

    @property
    def node(self) -> BaseNode:
        """The node."""
        return self._run.node

    @property
    def node_input(self) -> Any:
        """What the node was given; of the user's message, its text where that is all of it."""
        given = self._run.input
        if isinstance(given, Content) and all(part.text is not None for part in given.parts or ()):
            return text_of(given)
        return given

    @property
    def output(self) -> Any:
        """The node's output; set it once, or return it, or yield it."""
        return self._run.output

    @output.setter
    def output(self, value: Any) -> None:
        self._run.set_output(value)
        self._run.unsent_output = True

    @property
    def route(self) -> Any:
        """The route (a bool, an int, a string) or routes (a list) that the graph follows from here."""
        return self._run.route

    @route.setter
    def route(self, value: Any) -> None:
        self._run.route = value
        self._run.unsent_route = value is not None

    def emit_route(self, route: Any) -> None:
        """Set the route."""
        self.route = route

    @property
    def state(self) -> State:
        """The session's state, which takes only what the state schema declares, where there is one."""
        if self._state is None and self._run.state_schema is not None:
            session = self._invocation_context.session
            self._state = CheckedState(session.state, self.actions.state_delta, self._run.state_schema)
        return super().state

    @property
    def resume_inputs(self) -> Mapping[str, Any]:
        """The answers to the node's questions, by their ids."""
        return MappingProxyType(self._run.answers)

    @property
    def interrupt_ids(self) -> set[str]:
        """The questions that this run has asked."""
        return set(self._run.interrupts)

    def interrupt(
        self, message: str | RequestInput | None = None, *, interrupt_id: str | None = None, payload: Any = None,
        response_schema: Any = None,
    ) -> Any:  # fmt: skip
        """Ask the user; gives the answer, once the node runs again with it.

        Until then it raises NodeInterruptedError, which ends the run. A node that is not run again on resume has
        the answer as its output.
        """
        self._asked += 1
        if isinstance(message, RequestInput):
            request = message
        else:
            given = {} if interrupt_id is None else {"interrupt_id": interrupt_id}
            given = given or {"interrupt_id": f"{self.node_path}:{self._asked}:{self.invocation_id}"}
            request = RequestInput(message=message, payload=payload, response_schema=response_schema, **given)
        if request.interrupt_id in self._run.answers:
            return self._run.answers[request.interrupt_id]
        raise NodeInterruptedError(request)

    async def run_node(
        self, node: Any, node_input: Any = None, *, use_as_output: bool = False, run_id: str | None = None,
        use_sub_branch: bool = False, override_branch: str | None = None, override_isolation_scope: str | None = None,
    ) -> Any:  # fmt: skip
        """Run a node, a function, a tool, an agent or a graph from this one's code, and give its output.

        `run_id` names the run, so that it is known again when this node runs again after an interruption; without
        one it is counted by the node's name. `use_as_output`: its output is this node's too. `use_sub_branch`: on a
        branch of its own, which runs side by side need. A failure raises DynamicNodeFailError.
        """
        if not self._run.node.rerun_on_resume:
            raise ValueError(
                f"node {self.node_path} runs nodes from its code, so it needs rerun_on_resume=True: where one of them "
                f"waits for an answer, this one runs again to get it"
            )
        child = start_child(
            self._run, node, node_input, run_id=run_id, use_as_output=use_as_output, use_sub_branch=use_sub_branch,
            branch=override_branch, scope=override_isolation_scope,
        )  # fmt: skip
        return await child_output(self._run, child)

    @property
    def attempt_count(self) -> int:
        """The number of this attempt, from 1."""
        return self._run.attempt

    @property
    def node_path(self) -> str:
        """Where in the graph this run is: ``workflow@1/node@2``."""
        return self._run.path

    @property
    def run_id(self) -> str:
        """Which run of its node this is."""
        return self._run.run_id

    @property
    def event_author(self) -> str:
        """The author of the node's events."""
        return self._run.author

    @property
    def agent_name(self) -> str:
        """The name that the node's events bear."""
        return self._run.author

    @property
    def branch(self) -> str | None:
        """The branch of the node's events."""
        return self._run.branch

    @property
    def isolation_scope(self) -> str | None:
        """The scope of the node's events."""
        return self._run.scope

    @property
    def parent_ctx(self) -> NodeContext | None:
        """The context of the run that this one is part of."""
        return None if self._run.parent is None else self._run.parent.context

    @property
    def error(self) -> Exception | None:
        """Why the run failed for good, or None."""
        return self._run.error

    @property
    def error_node_path(self) -> str:
        """Where it failed: the path of this node, or of one that it ran; empty where it did not."""
        return self._run.error_path or ""
