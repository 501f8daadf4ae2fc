"""Isolation: an agent works on an input of its own, outside the conversation around it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from newel.agents.llm.task._finish_task_tool import finishing_response
from newel.agents.opening import Opening, as_opening
from newel.contexts.invocation_context import full_invocation
from newel.events.text import text_of
from newel.tools.structured_output import is_invalid, json_answer, model_answer, validated
from newel.turns.resumption import restore
from newel_kernel import BaseAgent, Event, InvocationContext
from newel_types import Content


async def run_isolated(
    agent: BaseAgent,
    ctx: InvocationContext,
    node_input: object,
    *,
    branch: str | None,
    isolation_scope: str | None,
    since: int | None = None,
) -> AsyncGenerator[Event, None]:
    """Run `agent` on `node_input` (a text, a Content, or data, sent as JSON) instead of the user's message.

    Its models see that input, then the events of the same `isolation_scope` on `branch`. If only one run uses
    a scope, that run may span invocations: run the agent again in the scope, and it continues. Without a scope the run
    uses the context's scope and sees only its own events; to continue an earlier run, pass the index of its first event
    as `since`. The input itself is not an event; None stands for the message that started the invocation. Every event
    carries the scope and the branch.
    """
    scope = ctx.isolation_scope if isolation_scope is None else isolation_scope
    if since is None:
        since = 0 if isolation_scope is not None else len(ctx.session.events)
    content = as_opening(_first_message(ctx) if node_input is None else node_input)
    earlier = [e for e in ctx.session.events[since:] if e.isolation_scope == scope and e.branch == branch]
    own = {event.id for event in earlier} if isolation_scope is None else None
    view = full_invocation(ctx).model_copy(
        update={
            "agent": agent,
            "branch": branch,
            "isolation_scope": scope,
            "live_request_queue": None,
            "mode": None,
            "opening": Opening(agent.name, content, since, own),
            "user_content": ctx.user_content if earlier else content,  # a continued run has the user's answer
        }
    )
    if view.is_resumable:
        restore(view, earlier)
    async with aclosing(agent.run_async(view)) as events:
        async for event in events:
            _place(event, branch, scope)
            if own is not None:
                own.add(event.id)
            yield event


def _place(event: Event, branch: str | None, scope: str | None) -> None:
    if event.isolation_scope is None:
        event.isolation_scope = scope
    if event.branch is None:
        event.branch = branch


def _first_message(ctx: InvocationContext) -> Content | None:
    """The message that started the invocation; a resumed invocation's latest message may be an answer."""
    for event in ctx.session.events if ctx.resumed else ():
        if event.invocation_id == ctx.invocation_id and event.author == "user" and event.content is not None:
            return event.content
    return ctx.user_content


class IsolatedResult:
    """The result of an isolated run: pass each event to `see` before the event is committed, then read `value`.

    The value is the `output` of an event that has one (a finished task). For an agent that answers once, it is the last
    message: a text, or data if the agent has an output schema. That message is marked as the output.
    """

    __slots__ = ("_answers_once", "_as_models", "_schema", "value")

    def __init__(self, agent: BaseAgent, *, as_models: bool = False) -> None:
        self._as_models = as_models
        self._answers_once = getattr(agent, "mode", "") in (None, "single_turn")  # other kinds of agents have no mode
        self._schema = getattr(agent, "output_schema", None)
        self.value: object = None

    def see(self, event: Event) -> None:
        """Read `event`; a message that does not fit the output schema raises OutputSchemaError."""
        if event.output is not None:
            self.value = event.output
        elif self._answers_once and not is_invalid(event) and (text := _message(event)) is not None:
            event.node_info.message_as_output = True
            if self._schema is None:
                self.value = text
            else:
                form = model_answer if self._as_models else json_answer
                self.value = validated(self._schema, text, form) if text.strip() else None


def finishes(agent: BaseAgent, event: Event) -> bool:
    """Whether the task agent `agent` is done with this event; its result may be None."""
    return event.author == agent.name and finishing_response(event) is not None


def _message(event: Event) -> str | None:
    """The text of a model's message without function calls; None for any other event."""
    content = event.content
    if event.partial or content is None or content.role != "model" or event.get_function_calls():
        return None
    return text_of(content)
