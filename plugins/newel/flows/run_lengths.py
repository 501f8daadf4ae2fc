"""Run lengths: whether a request is likely the last one of an isolated run, whose conversation ends with it.

An agent that answered after two steps the last time will probably do so again. What only a next step would read from
the provider's cache is then not worth its price. A wrong guess costs a little money and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from newel_kernel import Event
from newel_types import Content

if TYPE_CHECKING:
    from newel.agents.opening import Opening
    from newel.flows.llm_agents import LlmContext

#: How many events before the run are looked at.
_MOST = 500


def ends_here(ctx: LlmContext, opening: Opening, contents: Sequence[Content]) -> bool:
    """Whether the agent's latest run before this one had its last answer at this step."""
    name = ctx.agent.name
    if name not in opening.lengths:
        opening.lengths[name] = _latest_length(ctx.session.events, opening.since, name)
    length = opening.lengths[name]
    return length is not None and sum(content.role == "model" for content in contents) == length - 1


def _latest_length(events: Sequence[Event], before: int, name: str) -> int | None:
    """How many answers the agent's latest run had in the events `before` an index."""
    run: tuple[str, str | None] | None = None
    length = 0
    for index in range(before - 1, max(-1, before - 1 - _MOST), -1):
        event = events[index]
        if event.author != name:
            continue
        this = (event.invocation_id, event.branch)
        if run is None:
            run = this
        elif this != run:
            break
        if event.content is not None and event.content.role == "model":
            length += 1
    return length or None
