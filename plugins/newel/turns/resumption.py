"""Resumption: how far an earlier invocation has come, read from the session's log."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from newel import turns
from newel.contexts.invocation_context import InvocationContext, full_invocation
from newel.questions.answer_checks import check_answers
from newel.questions.names import HIDDEN
from newel.questions.precedence import MESSAGES, Work, answered_again, answers_more, handed_over, late_ids, note_work
from newel.turns.conversations import conversing_node
from newel.turns.delegates import DELEGATE_MODES
from newel.turns.routing import choose_agent
from newel_kernel import BaseAgent, ConfigurationError, Event, Log, Turn, brief
from newel_kernel import InvocationContext as KernelInvocationContext

_log = logging.getLogger("newel.turns")
#: In the `custom_metadata` of the message with which an invocation began: it pauses and resumes, whatever its app says.
PAUSES = "newel.pauses"


@dataclass(frozen=True, slots=True)
class _Resumable:
    is_resumable: bool = True


#: What the invocations of a resumable app have.
RESUMABLE = _Resumable()
_IGNORED = (
    "newel: the answer belongs to the invocation %r, which asked for it; the invocation_id %r given with it is "
    "ignored: leave it out"
)


def enter(context: KernelInvocationContext, turn: Turn, invocation_id: str | None) -> None:
    """Turn the context of a message into that of the invocation to which it belongs, if that has begun before."""
    ctx = full_invocation(context)
    root = ctx.agent
    if turn.answered or invocation_id is not None:
        _check(ctx, turn, invocation_id)
    transfers = root.__newel__.transfers
    if transfers and getattr(root, "mode", None) in DELEGATE_MODES:
        raise ConfigurationError(
            f"the root agent {root.name!r} has a mode in which it works for another agent; "
            f"give it mode='chat', or make it a sub-agent of one that chats"
        )
    if invocation_id is None and not turn.answered and transfers and not root.sub_agents:
        return  # a new message to an agent that is alone: it cannot go on with a graph
    asker = turn.asker
    if invocation_id is None or (asker is not None and asker.invocation_id != invocation_id):
        # An answer belongs to the invocation that asked, whichever one the caller names: nothing waits for it there.
        if invocation_id is not None and asker is not None:
            _log.warning(_IGNORED, asker.invocation_id, brief(invocation_id))
        invocation_id = continued(root, turn, ctx.is_resumable)
    if invocation_id is None:
        return
    ctx.invocation_id = invocation_id
    first = first_agent(root, turn.log, invocation_id)
    if first is None:
        raise ConfigurationError(
            f"the session {brief(ctx.session.id)!r} has no invocation {brief(invocation_id)!r} to resume"
        )
    standing = turn.log.standing()
    if not any(event.invocation_id == invocation_id for event in standing):
        raise ConfigurationError(
            f"the invocation {brief(invocation_id)!r} of the session {brief(ctx.session.id)!r} was taken back by a "
            f"rewind and cannot be resumed; send a new message instead"
        )
    ctx.agent, ctx.resumed = first, True
    restore(ctx, standing)


def _check(ctx: InvocationContext, turn: Turn, invocation_id: str | None) -> None:
    """Check answers, and whether the invocation that asked, or that is named, can be resumed."""
    if turn.answered:
        check_answers(turn)
    earlier = turn.asker.invocation_id if turn.asker is not None else invocation_id
    if not ctx.is_resumable and earlier is not None and _pauses_anyway(turn.log, earlier):
        ctx.resumability_config = RESUMABLE
    if invocation_id is not None and not ctx.is_resumable:
        raise ConfigurationError(
            f"invocation_id: {brief(invocation_id)} is provided but the app is not resumable; "
            f"use App(resumability_config=ResumabilityConfig(is_resumable=True))"
        )


def _pauses_anyway(log: Log, invocation_id: str) -> bool:
    """Whether an invocation pauses and resumes in every app: an answer belongs to it, whoever gives the answer."""
    begin = log.beginning(invocation_id)
    return begin is not None and bool((log.events[begin].custom_metadata or {}).get(PAUSES))


def answering(context: KernelInvocationContext) -> BaseAgent | None:
    """The agent that answers: in a resumed invocation the one that began it (None if it has ended), else the turn's."""
    ctx: InvocationContext = context  # type: ignore[assignment]  # or `enter` would have refused it
    if MESSAGES not in ctx.stash:
        choice = _agent(ctx)
        stored = handed_over(ctx) if ctx.resumed and choice is not None else []
        return turns.Acceptance(name=choice.name, agent=choice, answers=stored) if choice and stored else choice
    late, again = late_ids(ctx), answered_again(ctx)
    note_work(ctx, Work.RUNNING)
    if late and not answers_more(ctx, late):
        return turns.Refusal(name=ctx.agent.name, agent=ctx.agent, late=late, again=[], goes_on=False)
    choice = _agent(ctx)
    if not late and not again:
        return choice
    agent = choice or ctx.agent
    return turns.Refusal(name=agent.name, agent=agent, late=late, again=again, goes_on=choice is not None)


def _agent(ctx: InvocationContext) -> BaseAgent | None:
    root = ctx.agent
    if ctx.resumed:
        return None if ctx.end_of_agents.get(root.name) else root
    if root.__newel__.transfers and not root.sub_agents:  # it is alone
        return root
    return choose_agent(root, Log(ctx.session.events))


def leave(ctx: KernelInvocationContext, error: BaseException | None) -> None:
    """Note that the run is over: a later run may continue what it has not done with an answer."""
    if MESSAGES in ctx.stash:
        note_work(ctx, Work.DONE if error is None else Work.FAILED)


def continued(root: BaseAgent, turn: Turn, resumable: bool) -> str | None:
    """The unfinished invocation that the message continues, or None if it begins a new one.

    A graph node or a task waits for its answer in every app, an agent only in one that is resumable. A message that
    answers no call continues the graph one of whose nodes is in conversation with the user.
    """
    event = turn.asker if turn.answered else conversing_node(turn.log)
    if event is None or not (resumable or event.node_info.path or event.isolation_scope is not None):
        return None
    return None if has_ended(root, turn.log, event.invocation_id) else event.invocation_id


def has_ended(root: BaseAgent, log: Log, invocation_id: str) -> bool:
    """Whether the log says that the agent with which the invocation began has ended."""
    first = first_agent(root, log, invocation_id)
    own = (e for e in log.standing() if e.invocation_id == invocation_id and first and e.author == first.name)
    return any(one.actions.end_of_agent for one in own)


def first_agent(root: BaseAgent, log: Log, invocation_id: str) -> BaseAgent | None:
    """The agent with which the invocation began, or None if the log does not have it."""
    begin = log.beginning(invocation_id)
    return None if begin is None else choose_agent(root, Log(log.events[: begin + 1]))


def restore(ctx: InvocationContext, events: Sequence[Event]) -> None:
    """Bring back the invocation's message, its agents' checkpoints and what it has used of its budget.

    An agent that only spoke has an empty checkpoint. Its message right after its end is the answer of its
    `after_agent` callbacks, and does not start it again.
    """
    #: By branch: the agent whose end was the last event there.
    ended: dict[str | None, str] = {}
    for event in events:
        if event.invocation_id != ctx.invocation_id:
            continue
        before = ended.pop(event.branch, None)
        if event.author == "user":
            if ctx.user_content is None and event.content is not None and not event.get_function_responses():
                ctx.user_content = event.content
            continue
        ctx.budget.used += _is_answer(event)
        state = event.actions.agent_state
        if event.actions.end_of_agent:
            ctx.end_of_agents[event.author] = True
            ctx.agent_states.pop(event.author, None)
            ended[event.branch] = event.author
        elif before == event.author and state is None and not event.get_function_calls():
            continue
        elif state is not None or event.content is not None:
            ctx.agent_states[event.author] = ctx.agent_states.get(event.author, {}) if state is None else state
            ctx.end_of_agents[event.author] = False


def _is_answer(event: Event) -> bool:
    """Whether a model produced the event: then its call counts, as far as the log can tell."""
    content = event.content
    if content is None or content.role != "model":
        return bool(event.error_code and event.model_version)
    return all(call.name not in HIDDEN for call in event.get_function_calls())
