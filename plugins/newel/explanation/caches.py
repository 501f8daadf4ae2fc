"""Caches: how much of each request a provider read from its cache, and what broke the rest, as a session tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from newel.flows.context_budget.edits import Target, edits_of
from newel_kernel import Event

#: A provider caches whole blocks, so a request that reads this share of the one before has a prefix that held.
_HELD = 0.9
#: Less is not cached by any provider, in tokens.
_LEAST = 1_024
#: The shortest time for which a provider keeps a prefix that nobody reads, in seconds.
_LIFETIME = 300.0


@dataclass(frozen=True, slots=True)
class Request:
    """A request of an agent to its model, in tokens."""

    event_id: str
    tokens: int
    #: How many the provider has read from its cache.
    cached: int
    #: How many were in the request before it, and were paid in full again.
    paid_twice: int
    #: Why the prefix broke, the plugin first; empty if it held, or if it is the first request.
    broken_by: str = ""


@dataclass(slots=True)
class CacheReport:
    """The requests of one agent on one branch."""

    agent: str
    branch: str | None
    requests: list[Request] = field(default_factory=list)
    #: The results that stand there in another form: the ids of their events and calls.
    edited: set[Target] = field(default_factory=set)

    @property
    def tokens(self) -> int:
        """Of all requests."""
        return sum(request.tokens for request in self.requests)

    @property
    def cached(self) -> int:
        """How many of them were read from the cache."""
        return sum(request.cached for request in self.requests)

    @property
    def paid_twice(self) -> int:
        """How many had been sent before, and were paid in full again."""
        return sum(request.paid_twice for request in self.requests)

    @property
    def hit_ratio(self) -> float:
        """The share that was read from the cache, from 0 to 1."""
        return self.cached / self.tokens if self.tokens else 0.0

    @property
    def cleared(self) -> int:
        """How many results of tools the agent's requests do not show any more, as the context budget has decided."""
        return len(self.edited)

    @property
    def breaks(self) -> list[Request]:
        """The requests whose prefix was broken."""
        return [request for request in self.requests if request.broken_by]


def cache_reports(events: Sequence[Event]) -> list[CacheReport]:
    """A report for each agent and branch whose requests have token counts, in the order of their first requests."""
    reports: dict[tuple[str, str | None], CacheReport] = {}
    positions: dict[tuple[str, str | None], int] = {}
    for position, event in enumerate(events):
        usage = event.usage_metadata
        if usage is None or event.partial or event.author == "user" or not usage.prompt_token_count:
            continue
        key = event.author, event.branch
        report = reports.setdefault(key, CacheReport(*key))
        before = events[positions[key] : position + 1] if key in positions else []
        report.edited.update(edit.target for one in before for edit in edits_of(one) if one.author == event.author)
        report.requests.append(_request(event, before, report.requests[-1] if report.requests else None))
        positions[key] = position
    return list(reports.values())


def _request(event: Event, since: Sequence[Event], before: Request | None) -> Request:
    """What an event says of its request; `since` begins with the event of the request before it."""
    usage = event.usage_metadata
    assert usage is not None
    tokens, cached = usage.prompt_token_count or 0, usage.cached_content_token_count or 0
    if before is None:
        return Request(event.id, tokens, cached, 0)
    repeated = min(before.tokens, tokens)
    if repeated < _LEAST or cached >= _HELD * repeated:
        return Request(event.id, tokens, cached, 0)
    causes = "; ".join(_causes(since)) or "no event says why"
    return Request(event.id, tokens, cached, repeated - cached, causes)


def _causes(since: Sequence[Event]) -> Iterator[str]:
    """What, since the request before, has changed the prefix or let the cache forget it."""
    first, last = since[0], since[-1]
    cleared = sum(len(edits_of(event)) for event in since if event.author == last.author)
    if cleared:
        yield f"context_budget: {cleared} result{'' if cleared == 1 else 's'} cleared"
    actions = [event.touched_actions for event in since]
    if any(one is not None and one.compaction is not None for one in actions):
        yield "compaction: earlier events became a summary"
    if any(one is not None and one.rewind_before_invocation_id for one in actions):
        yield "a rewind took events back"
    if first.model_version and last.model_version and first.model_version != last.model_version:
        yield f"another model: {first.model_version}, then {last.model_version}"
    if (waited := last.timestamp - first.timestamp) > _LIFETIME:
        yield f"{waited / 60:.0f} minutes passed, after which a provider may have forgotten it"
