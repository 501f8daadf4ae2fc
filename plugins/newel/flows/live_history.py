"""live_history: what an agent said before it transferred is quoted when it continues over a new live connection.

After a transfer back, a service takes what follows the result of a function for the model's own words, and stays
silent. Quoted, the last word is another's, and the model answers.
"""

from __future__ import annotations

from collections.abc import Sequence

from newel.flows.visibility import as_quotation
from newel_kernel import Event


def quoted(events: Sequence[Event], agent: str, *, fence: bool) -> list[Event]:
    """`events`, in which what `agent` said live before its latest transfer to another agent is quoted."""
    last = max((at for at, event in enumerate(events) if _hands_over(event, agent)), default=-1)
    return [
        _quotation(event, fence) if at <= last and _live(event, agent) else event for at, event in enumerate(events)
    ]


def _hands_over(event: Event, agent: str) -> bool:
    actions = event.touched_actions
    return event.author == agent and actions is not None and actions.transfer_to_agent not in (None, agent)


def _live(event: Event, agent: str) -> bool:
    """Whether the agent said it over a live connection; results of its tools count as its words."""
    return event.author == agent and event.content is not None and bool(event.live_session_id)


def _quotation(event: Event, fence: bool) -> Event:
    content = as_quotation(event, fence=fence)
    return (
        Event(
            invocation_id=event.invocation_id,
            author="user",
            content=content,
            branch=event.branch,
            isolation_scope=event.isolation_scope,
            timestamp=event.timestamp,
        )
        if content is not None
        else event
    )
