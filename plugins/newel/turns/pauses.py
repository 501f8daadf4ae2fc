"""Pauses: what an agent's run waits for, in an app whose invocations are resumable."""

from __future__ import annotations

from newel import questions
from newel.contexts.invocation_context import InvocationContext, full_invocation
from newel.questions.provisional_results import is_provisional
from newel.turns.conversations import conversing_node
from newel_kernel import InvocationContext as KernelInvocationContext
from newel_kernel import Log


def waits(context: KernelInvocationContext) -> bool:
    """Whether long-running calls, of this agent's run or of runs within it, wait for an answer or for its effect.

    Any other message of the user ends the waiting. In an app that is not resumable nothing waits, except in a graph,
    if a call waits that has no result at all.
    """
    ctx: InvocationContext = context  # type: ignore[assignment]  # or `enter` would have refused it
    if ctx.resumability_config is None or not ctx.is_resumable:  # each step asks, and most apps have none
        return False
    waiting: set[str] = set()
    answered_before: set[str] = set()
    below = ctx.branch + "." if ctx.branch else ""
    scopes: set[str | None] = {ctx.isolation_scope}
    for event in full_invocation(ctx).get_events(current_invocation=True):
        if event.author == "user":
            answered = {response.id for response in event.get_function_responses()}
            answered_before = answered_before | (waiting & answered) if answered else set()
            waiting = waiting - answered if answered else set()
        elif ctx.isolation_scope is not None and event.isolation_scope not in scopes:
            continue
        elif not below or event.branch == ctx.branch or (event.branch or "").startswith(below):
            scopes.update(call.id for call in event.get_function_calls())
            waiting |= event.long_running_tool_ids or set()
            if ctx.takes_first_results and not is_provisional(event):
                waiting -= {response.id for response in event.get_function_responses()}
    return bool(waiting or (answered_before and questions.left_to_others(ctx, answered_before)))


def pauses(ctx: KernelInvocationContext) -> bool:
    """Whether something in this agent's run waits for an answer, or a node of a graph for the user's next message.

    Nothing does in an app that is not resumable.
    """
    if not full_invocation(ctx).is_resumable:
        return False
    if waits(ctx):
        return True
    if ctx.isolation_scope is not None:
        return False
    talks = conversing_node(Log(ctx.session.events))
    if talks is None or talks.invocation_id != ctx.invocation_id:
        return False
    return not ctx.branch or f"{talks.branch}.".startswith(f"{ctx.branch}.")
