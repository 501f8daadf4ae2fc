"""Conversations: the isolation scope or the graph node that the user's next message goes to."""

from __future__ import annotations

from newel_kernel import Event, Log


def open_scope(log: Log) -> str | None:
    """The isolation scope that the conversation is in: the next message of the user belongs to it.

    It was left open by the last invocation in which an agent spoke. A scope is closed by the result of the call
    that it is named after, by an event in it that has an output, or by the note that a graph node is done: the node
    whose path is the scope's name, or one around it.
    """
    last: str | None = None
    for event in reversed(log.events):  # most have no scopes: this looks once at each event of the last invocation
        if event.isolation_scope is not None:
            return _latest_open(log)
        if last is not None and event.invocation_id != last:
            return None
        if event.author != "user":
            last = event.invocation_id
    return None


def _latest_open(log: Log) -> str | None:
    closed: set[str | None] = set()
    last: str | None = None
    for _, event in log.backwards():
        if last is not None and event.invocation_id != last:
            return None
        closed.update(response.id for response in event.get_function_responses())
        closed.update(event.node_info.nodes or ())
        scope = event.isolation_scope
        if scope is not None:
            if event.output is not None:
                closed.add(scope)
            if not any(f"{scope}/".startswith(f"{one}/") for one in closed) and _converses(event):
                return scope
        elif event.author != "user" and event.content is not None:
            last = event.invocation_id
    return None


def _converses(event: Event) -> bool:
    """Whether the event is of an agent that takes messages in its scope.

    An event does not count that only notes the agent's end, or passes a question of the agent in one of its tools on
    to the user.
    """
    passes_on = event.long_running_tool_ids and event.content is not None and event.content.role == "user"
    return event.author != "user" and not event.actions.end_of_agent and not passes_on


def conversing_node(log: Log) -> Event | None:
    """The latest event of the graph node that gets the user's next message, itself or in a task that it has given."""
    scope = open_scope(log)
    while scope is not None and (call := log.asker({scope})) is not None:
        scope = call.isolation_scope
    if scope is None:
        return None
    return next((e for e in reversed(log.events) if e.isolation_scope == scope and e.node_info.path), None)
