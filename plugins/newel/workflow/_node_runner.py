"""NodeRunner: runs a node from the code of another, and returns the context of its run."""

from __future__ import annotations

from contextlib import suppress

from newel.workflow._errors import DynamicNodeFailError
from newel.workflow.context import NodeContext
from newel.workflow.node_run import NodeRun
from newel_kernel import Json


class NodeRunner:
    """Runs `node` within the run of `parent_ctx`; its failure is in that context, not raised.

    `run_id` names the run (default "1"). `use_as_output`: its output is the parent's too. `use_sub_branch`: on a
    branch of its own. `prior_output` and `prior_interrupt_ids` are the output and the open questions of a run before an
    interruption.
    """

    def __init__(
        self,
        *,
        node: object,
        parent_ctx: NodeContext,
        run_id: str | None = None,
        use_as_output: bool = False,
        prior_output: object = None,
        prior_interrupt_ids: set[str] | None = None,
        use_sub_branch: bool = False,
        override_branch: str | None = None,
        override_isolation_scope: str | None = None,
    ) -> None:
        if not isinstance(parent_ctx, NodeContext):
            raise ValueError(
                f"NodeRunner needs the context of a graph node as parent_ctx, not a {type(parent_ctx).__name__}: "
                f"only a graph can commit the events of its nodes"
            )
        parent = parent_ctx._run
        assert isinstance(parent, NodeRun)
        self._child = parent.child(
            node,
            None,
            run_id or "1",
            use_as_output=use_as_output,
            use_sub_branch=use_sub_branch,
            branch=override_branch,
            scope=override_isolation_scope,
        )
        self._prior_output = prior_output
        self._prior_interrupts = sorted(prior_interrupt_ids or ())

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self._child.place.run_id

    async def run(self, node_input: object = None, *, resume_inputs: Json | None = None) -> NodeContext:
        """The context of the run, once that is over: `output`, `route`, `interrupt_ids`, or `error`."""
        child = self._child
        child.input = node_input
        child.answers = dict(resume_inputs or {})
        child.begin()
        with suppress(DynamicNodeFailError):  # child.failure says why
            await child.end()
        if self._prior_output is not None and not child.outcome.produced:
            child.outcome.give(self._prior_output)
        child.outcome.ask(waiting for waiting in self._prior_interrupts if waiting not in child.answers)
        return child.context
