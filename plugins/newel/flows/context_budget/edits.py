"""Context edits: results that an agent's model no longer sees whole, as the session's events tell.

The fact is in the metadata of an event of the agent, on its branch, so that every process, a fork and a resumed run
build the same request. The log keeps the results themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from newel.flows.visibility import on_branch
from newel_kernel import Event, InvocationContext, Json
from newel_types import Content, FunctionResponse, Part

#: The key in the metadata of such an event.
EDITS = "newel.context_edits"
#: The id of the event of a call, and that of the call.
Target = tuple[str, str | None]


@dataclass(frozen=True, slots=True)
class Edit:
    """What stands in place of a result."""

    target: Target
    #: The name under which `read_result` gives the result back.
    handle: str
    #: The strategy that chose it.
    strategy: str
    response: Json


def edits_of(event: Event) -> Sequence[Edit]:
    """The edits that an event tells; none if it is another one."""
    entries = (event.custom_metadata or {}).get(EDITS) if event.author != "user" else None
    if not isinstance(entries, dict) or not isinstance(found := entries.get("results"), list):
        return ()
    return [
        Edit((str(one["event"]), one["call"]), str(one["as"]), str(one["by"]), one["response"])
        for one in found
        if isinstance(one, Mapping) and {"event", "call", "as", "by", "response"} <= one.keys()
    ]


def tokens_left(event: Event) -> int | None:
    """How many tokens the next request was to have after the edits of an event."""
    entries = (event.custom_metadata or {}).get(EDITS)
    tokens = entries.get("tokens") if isinstance(entries, dict) else None
    return tokens if isinstance(tokens, int) else None


def tokens_after_summary(event: Event) -> int | None:
    """How many tokens the next request was to have after a summary; None if an event does not tell that."""
    entries = (event.custom_metadata or {}).get(EDITS)
    return tokens_left(event) if isinstance(entries, dict) and entries.get("results") == [] else None


def is_of_view(event: Event, agent: str, branch: str | None, scope: str | None) -> bool:
    """Whether the edits of an event are for what this agent sees on this branch and in this isolation scope."""
    return event.author == agent and event.isolation_scope == scope and on_branch(event.branch, branch)


def telling(ctx: InvocationContext, edits: Sequence[Edit], tokens: int) -> Event:
    """The event that tells these edits, none after a summary; the next request then has about this many tokens."""
    results = [
        {"event": one.target[0], "call": one.target[1], "as": one.handle, "by": one.strategy, "response": one.response}
        for one in edits
    ]
    return Event(
        invocation_id=ctx.invocation_id,
        author=ctx.agent.name,
        branch=ctx.branch,
        isolation_scope=ctx.isolation_scope,
        custom_metadata={EDITS: {"tokens": tokens, "results": results}},
    )


def edited(results: Event, responses: Mapping[str | None, Json]) -> Event:
    """The event of results with other responses to these calls."""
    content = results.content
    assert content is not None  # it has results
    parts = [_edited(part, responses) for part in content.parts or ()]
    return results.model_copy(update={"content": Content(role=content.role, parts=parts)})


def _edited(part: Part, responses: Mapping[str | None, Json]) -> Part:
    own = part.function_response
    if own is None or own.id not in responses:
        return part
    return Part(function_response=FunctionResponse(id=own.id, name=own.name, response=responses[own.id]))
