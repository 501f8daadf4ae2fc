"""AgentNode: an agent as a node."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Unpack

from pydantic import BaseModel

from newel.agents.isolation import IsolatedResult, finishes, run_isolated
from newel.contexts.model_data import ModelData, carried
from newel.workflow._base_node import BaseNode, NodeFields
from newel.workflow._retry_config import RetryConfig
from newel.workflow.context import Run
from newel_kernel import BaseAgent, Event, InvocationContext, Json


class _AlwaysResumable:
    """In a graph an agent pauses on a call that has no result, also in an app that does not resume."""

    is_resumable = True


class AgentNode(BaseNode):
    """Runs `agent`. An LLM agent answers once, seeing only the node's input; its answer is the output.

    One in mode 'task' works in an isolation scope, and may talk there with the user over several turns, until it calls
    finish_task; the result of that call is the output. One in mode 'chat' talks in the session's conversation and has
    no output; so do agents that no model drives.
    """

    #: The agent that it runs.
    agent: BaseAgent

    def __init__(
        self,
        agent: BaseAgent,
        *,
        name: str | None = None,
        retry_config: RetryConfig | None = None,
        **options: Unpack[NodeFields],
    ) -> None:
        fields: Json = {"name": name or agent.name, "retry_config": retry_config, **options}
        mode = getattr(agent, "mode", None)
        fields.setdefault("description", agent.description)
        fields.setdefault("rerun_on_resume", True)
        fields.setdefault("wait_for_output", mode == "chat")
        super().__init__(**fields, **{"agent": agent})
        self.input_schema = self.input_schema or getattr(agent, "input_schema", None)
        self.output_schema = self.output_schema or getattr(agent, "output_schema", None)

    @property
    def __newel_converses__(self) -> bool:
        """Whether it has a task."""
        return getattr(self.agent, "mode", None) == "task"

    @property
    def __newel_starts_nodes__(self) -> bool:
        """False: its code never runs other nodes."""
        return False

    @property
    def _isolated(self) -> bool:
        return hasattr(self.agent, "mode") and self.agent.mode != "chat"

    def _validate_output_data(self, value: object) -> object:
        """`value`: the agent's own schema has validated it."""
        return value

    def __newel_recall__(self, event: Event, path: str) -> object:
        """The output that a committed message stands for."""
        answer = IsolatedResult(self.agent, as_models=True)
        answer.see(event.model_copy())
        return _carried(answer.value)

    async def __newel_events__(self, run: Run) -> AsyncGenerator[Event, None]:
        answer = IsolatedResult(self.agent, as_models=True)
        async with aclosing(self._running(run)) as events:
            async for event in events:
                if _is_note(event) and self._is_idle(run, event):
                    continue
                if not event.node_info.path:
                    event.node_info.path = run.place.path
                if not run.outcome.produced and (output := self._output_of(event, answer)) is not None:
                    run.outcome.give(output)
                    event.node_info.output_for = run.place.output_for
                if not event.partial:
                    self._note(run, event)
                run.place.author = event.author  # who spoke last is the author of an error, too
                yield event
        if self.__newel_converses__ and not run.outcome.produced and not run.outcome.interrupts:
            run.outcome.ask([run.place.path])  # it waits for what the user says

    def _output_of(self, event: Event, answer: IsolatedResult) -> object:
        if not self._isolated:
            return event.output
        answer.see(event)
        return _carried(answer.value)

    def _note(self, run: Run, event: Event) -> None:
        """Update the run by `event`."""
        run.note_questions(event)
        _close_questions(run, event)
        if self.__newel_converses__ and self._has_finished(event):
            run.outcome.finish()
        if not run.outcome.interrupts and self._is_end(event):
            run.settle()  # so that this event says so

    def _is_idle(self, run: Run, note: Event) -> bool:
        """Whether `note`, a checkpoint of the agent, is not needed: the end of a task agent's turn is not its end."""
        if self._isolated and not run.tree.resumable:
            return True
        return self.__newel_converses__ and not run.outcome.produced and note.author == self.agent.name

    def _has_finished(self, event: Event) -> bool:
        return finishes(self.agent, event)

    def _is_end(self, event: Event) -> bool:
        if self.__newel_converses__:
            return self._has_finished(event)
        actions = event.touched_actions
        return actions is not None and bool(actions.end_of_agent) and event.author == self.agent.name

    def _running(self, run: Run) -> AsyncGenerator[Event, None]:
        place = run.place
        ctx = run.tree.invocation.model_copy(
            update={"branch": place.branch, "node_path": place.path, "isolation_scope": place.scope}
        )
        if not self._isolated:
            return _own(self.agent.run_async(ctx), ctx)
        if not ctx.is_resumable:
            ctx.resumability_config, ctx.takes_first_results = _AlwaysResumable(), True
        value = self._validate_input_data(run.input)
        scope, since = place.scope, run.since
        if self.__newel_converses__:
            around = run.tree.invocation.isolation_scope if run.parent is None else run.parent.place.scope
            scope = place.path if scope == around else scope
            # Every invocation has runs of that path: what an earlier one said in the scope is not for this one.
            since = len(ctx.session.events) if since is None else since
        return run_isolated(self.agent, ctx, value, branch=place.branch, isolation_scope=scope, since=since)


def _carried(answer: object) -> object:
    """An answer as it goes to the next node: a model that was validated keeps itself, and is not validated again."""
    return ModelData(answer, exclude_none=True) if isinstance(answer, BaseModel) else carried(answer)


async def _own(events: AsyncGenerator[Event, None], ctx: InvocationContext) -> AsyncGenerator[Event, None]:
    """The events of an agent in the conversation, on the branch of its run."""
    async with aclosing(events) as running:
        async for event in running:
            if event.branch is None:
                event.branch = ctx.branch
            yield event


def _is_note(event: Event) -> bool:
    """Whether an event is only a checkpoint of an agent, which apps that resume need."""
    actions = event.touched_actions
    return event.content is None and actions is not None and bool(actions.end_of_agent or actions.agent_state)


def _close_questions(run: Run, event: Event) -> None:
    """Close the questions that a result in `event` answers."""
    for response in event.get_function_responses():
        if response.id is not None and response.id in run.answers:
            run.outcome.answer(response.id)
