"""AgentNode: an agent as a node."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from newel.agents.isolated import Outcome, finishes, run_isolated
from newel.workflow._base_node import BaseNode
from newel_kernel.contracts.agent import BaseAgent
from newel_kernel.events import Event
from newel_kernel.invocation import InvocationContext

if TYPE_CHECKING:
    from newel.workflow.node_run import NodeRun


class _Pausing:
    """Inside of a graph, an agent pauses on a call that the outside must answer, whatever the app says."""

    is_resumable = True


class AgentNode(BaseNode):
    """Runs `agent`. An LLM agent answers once, seeing only the node's input; its answer is the output.

    One in mode 'task' works in an isolation scope, and may talk there with the user over several turns, until it calls
    finish_task; what it finishes with is the output. One in mode 'chat' talks in the session's conversation and has no
    output; so do agents that no model drives.
    """

    agent: Any

    def __init__(self, agent: BaseAgent, **fields: Any) -> None:
        mode = getattr(agent, "mode", None)
        fields.setdefault("name", agent.name)
        fields.setdefault("description", agent.description)
        fields.setdefault("rerun_on_resume", True)
        fields.setdefault("wait_for_output", mode == "chat")
        super().__init__(**fields, **{"agent": agent})
        self.input_schema = self.input_schema or getattr(agent, "input_schema", None)
        self.output_schema = self.output_schema or getattr(agent, "output_schema", None)

    @property
    def converses(self) -> bool:
        """Whether it has a task."""
        return getattr(self.agent, "mode", None) == "task"

    @property
    def starts_nodes(self) -> bool:
        """No."""
        return False

    @property
    def _isolated(self) -> bool:
        return hasattr(self.agent, "mode") and self.agent.mode != "chat"

    def fit_output(self, value: Any) -> Any:
        """The agent's own schema made it fit."""
        return value

    def recall_output(self, event: Event, path: str) -> Any:
        """The output that a committed message stands for."""
        outcome = Outcome(self.agent)
        outcome.see(event.model_copy())
        return outcome.value

    async def _events(self, run: NodeRun) -> AsyncGenerator[Event, None]:
        outcome = Outcome(self.agent)
        async with aclosing(self._running(run)) as events:
            async for event in events:
                if _is_note(event) and self._is_idle(run, event):
                    continue
                if not event.node_info.path:
                    event.node_info.path = run.path
                if self._isolated and not run.produced:
                    outcome.see(event)
                    if outcome.value is not None:
                        run.output, run.produced = outcome.value, True
                        event.node_info.output_for = run.output_for
                elif event.output is not None and not run.produced:
                    run.output, run.produced = event.output, True
                    event.node_info.output_for = run.output_for
                if not event.partial:
                    self._note(run, event)
                yield event
        if self.converses and not run.produced and not run.interrupts:
            run.interrupts = [run.path]  # it waits for what the user says

    def _note(self, run: NodeRun, event: Event) -> None:
        """Note what `event` means for the run."""
        run.note_questions(event)
        _answered(run, event)
        if self.converses and self._has_finished(event):
            run.produced, run.interrupts = True, ()
        if not run.interrupts and self._is_end(event):
            run.settle()  # so that this event says so

    def _is_idle(self, run: NodeRun, note: Event) -> bool:
        """Whether nobody needs `note`: a task agent's turn is not its end."""
        if self._isolated and not run.tree.resumable:
            return True
        return self.converses and not run.produced and note.author == self.agent.name

    def _has_finished(self, event: Event) -> bool:
        return finishes(self.agent, event)

    def _is_end(self, event: Event) -> bool:
        if self.converses:
            return self._has_finished(event)
        actions = event.touched_actions
        return actions is not None and bool(actions.end_of_agent) and event.author == self.agent.name

    def _running(self, run: NodeRun) -> AsyncGenerator[Event, None]:
        ctx = run.tree.invocation.model_copy(
            update={"branch": run.branch, "node_path": run.path, "isolation_scope": run.scope}
        )
        if not self._isolated:
            return _own(self.agent.run_async(ctx), ctx)
        ctx.resumability_config = _Pausing()
        value = self.fit_input(run.input)
        scope, since = run.scope, run.since
        if self.converses:
            around = run.tree.invocation.isolation_scope if run.parent is None else run.parent.scope
            scope = run.path if scope == around else scope
            # Every invocation has runs of that path: what an earlier one said in the scope is not for this one.
            since = len(ctx.session.events) if since is None else since
        return run_isolated(self.agent, ctx, value, branch=run.branch, isolation_scope=scope, since=since)


async def _own(events: AsyncGenerator[Event, None], ctx: InvocationContext) -> AsyncGenerator[Event, None]:
    """The events of an agent in the conversation, on the branch of its run."""
    async with aclosing(events) as running:
        async for event in running:
            if event.branch is None:
                event.branch = ctx.branch
            yield event


def _is_note(event: Event) -> bool:
    """Whether an event only says where an agent is in its work, which is for apps that resume."""
    actions = event.touched_actions
    return event.content is None and actions is not None and bool(actions.end_of_agent or actions.agent_state)


def _answered(run: NodeRun, event: Event) -> None:
    """A question that the agent's own run answers later is open no more."""
    for response in event.get_function_responses():
        if response.id in run.answers and response.id in run.interrupts:
            run.interrupts = [waiting for waiting in run.interrupts if waiting != response.id]
