"""Routing: which agent answers a message, and on which branch and in which scope it is stored."""

from __future__ import annotations

from newel.contexts.invocation_context import full_invocation
from newel.questions.answer_checks import accepted, check_answers
from newel.questions.precedence import MESSAGES
from newel.turns.conversations import open_scope
from newel.turns.delegates import employer_of
from newel_kernel import BaseAgent, Event, InvocationContext, Json, Log, Turn
from newel_types import Content, Part

#: A branch and an isolation scope.
Conversation = tuple[str | None, str | None]


def choose_agent(root: BaseAgent, log: Log) -> BaseAgent:
    """The agent that answers the next turn (docs/reference/behaviour.md#whose-turn-it-is).

    It is the agent that asked, if the last event answers a call or is in an isolation scope; else the latest
    author who may keep the conversation; else the root. A delegate's turns go to the agent that it works for.
    """
    if (asker := _asker(log)) is not None and (agent := root.find_agent(asker.author)) is not None:
        return employer_of(agent)
    for event in reversed(log.events):
        actions = event.touched_actions
        if event.author == "user" or (
            actions is not None and (actions.agent_state is not None or actions.end_of_agent)
        ):
            continue
        if event.author == root.name:
            return root
        candidate = root.find_sub_agent(event.author)
        if candidate is not None and keeps_conversation(candidate := employer_of(candidate)):
            return candidate
    return root


def _asker(log: Log) -> Event | None:
    """The event to which the last one replies: the question that it answers, or what was said in its scope."""
    if not log.events:
        return None
    last = log.events[-1]
    if responses := last.get_function_responses():
        return log.asker({response.id for response in responses})
    if (scope := last.isolation_scope) is None:
        return None
    return next((e for _, e in log.backwards() if e.isolation_scope == scope and e.author != "user"), None)


def keeps_conversation(agent: BaseAgent) -> bool:
    """Whether every agent up to the root can transfer upwards, so that the user is not stuck with this one."""
    current: BaseAgent | None = agent
    while current is not None:
        if not current.__newel__.transfers or getattr(current, "disallow_transfer_to_parent", False):
            return False
        current = current.parent_agent
    return True


def messages(ctx: InvocationContext, turn: Turn) -> list[Event]:
    """The event of the message; for answers to several paused askers, one for each asker, on its branch.

    Answers that come too late are left out; if nothing else is in it, so is the event.
    """
    if not turn.answered:
        scope = open_scope(turn.log) if turn.log.events else None
        return [Event(ctx.invocation_id, "user", turn.content, None, None, None, scope)]
    check_answers(turn)
    content = accepted(ctx, turn)
    ctx.stash[MESSAGES] = events = _answers(ctx, turn, content) if content is not None else []
    return events


def _answers(ctx: InvocationContext, turn: Turn, content: Content) -> list[Event]:
    contents = _by_conversation(turn, content, split=full_invocation(ctx).is_resumable)
    common: Json = {"invocation_id": ctx.invocation_id, "author": "user"}
    return [Event(**common, content=one, branch=branch, isolation_scope=scope) for (branch, scope), one in contents]


def _by_conversation(turn: Turn, content: Content, *, split: bool) -> list[tuple[Conversation, Content]]:
    """The parts of a message by the conversation that each belongs to; all in the latest one, unless `split`."""
    where = _conversation(next(iter(turn.askers.values())))
    groups: dict[Conversation, list[Part]] = {}
    for part in content.parts or ():
        if split and part.function_response is not None:
            where = _conversation(turn.askers[part.function_response.id])
        groups.setdefault(where, []).append(part)
    if len(groups) == 1:
        return [(where, content)]
    return [(key, Content(role=content.role, parts=parts)) for key, parts in groups.items()]


def _conversation(asker: Event) -> Conversation:
    """The branch and the scope of an answer: the asker's. The question of a graph's own code is on no branch."""
    of_agent = asker.content is not None and asker.content.role is not None
    return (asker.branch if of_agent else None), asker.isolation_scope
