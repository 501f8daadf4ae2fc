"""Caches: how much of each request a provider read from its cache, and what broke the rest, as a session tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from newel.contexts.usages import answers_of, noted_cost
from newel.explanation.explanation import Explanation
from newel.flows.context_budget.edits import Target, edits_of
from newel.models.policies.model_costs import cost_of, token_price
from newel_kernel import Event
from newel_types import GenerateContentResponseUsageMetadata, deferred

#: What is told of a break whose cause neither the events nor an explanation tell.
UNKNOWN = "no event says why"
#: What is told if an explanation shows that the request continued the one before it.
UNCHANGED = "nothing that was sent before has changed; the provider did not keep it"
#: It loads with the first explained request.
_break_between = deferred("newel.explanation.prefixes", "break_between")
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
    invocation_id: str = ""
    #: US dollars, None if no price is known: what the call cost, what the cache saved (below zero: what was written
    #: cost more than what was read saved), and what was paid for tokens that had been sent before.
    cost: float | None = None
    saved: float | None = None
    lost: float | None = None


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
    def cost(self) -> float | None:
        """What the requests cost in US dollars, of those whose price is known; None: no price is known."""
        return _sum(request.cost for request in self.requests)

    @property
    def saved(self) -> float | None:
        """What the cache saved in US dollars."""
        return _sum(request.saved for request in self.requests)

    @property
    def lost(self) -> float | None:
        """What was paid for tokens that had been sent before, in US dollars."""
        return _sum(request.lost for request in self.requests)

    @property
    def breaks(self) -> list[Request]:
        """The requests whose prefix was broken."""
        return [request for request in self.requests if request.broken_by]


def cache_reports(events: Sequence[Event], explanations: Sequence[Explanation] = ()) -> list[CacheReport]:
    """A report for each agent and branch whose requests have token counts, in the order of their first requests.

    `explanations` of the latest requests name the step that broke a prefix if the events do not tell the cause.
    """
    reports: dict[tuple[str, str | None], CacheReport] = {}
    positions: dict[tuple[str, str | None], int] = {}
    for position, usage in answers_of(events):
        event = events[position]
        if not usage.prompt_token_count:
            continue
        key = event.author, event.branch
        report = reports.setdefault(key, CacheReport(*key))
        before = events[positions[key] : position + 1] if key in positions else []
        report.edited.update(edit.target for one in before for edit in edits_of(one) if one.author == event.author)
        request = _request(event, before, report.requests[-1] if report.requests else None)
        report.requests.append(_priced(request, event.model_version or "", usage))
        positions[key] = position
    for report in reports.values():
        _explain(report, explanations)
    return list(reports.values())


def _sum(amounts: Iterable[float | None]) -> float | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known else None


def _priced(request: Request, model: str, usage: GenerateContentResponseUsageMetadata) -> Request:
    """The request with what it cost, and what the cache saved."""
    plain = usage.model_copy(update={"cached_content_token_count": 0, "cache_write_token_count": 0})
    cost, without = cost_of("", model, usage), cost_of("", model, plain)
    full, cached = token_price("", model), token_price("", model, cached=True)
    if cost is None or without is None or full is None or cached is None:
        return replace(request, cost=noted_cost(usage))
    noted = noted_cost(usage)
    return replace(
        request,
        cost=float(cost) if noted is None else noted,
        saved=float(without - cost),
        lost=request.paid_twice * (full - cached),
    )


def _explain(report: CacheReport, explanations: Sequence[Explanation]) -> None:
    """Name the steps that broke prefixes; the explained requests are the latest ones of the agent."""
    explained = [one for one in explanations if (one.agent, one.branch) == (report.agent, report.branch)]
    for back, (earlier, later) in enumerate(zip(reversed(explained[:-1]), reversed(explained[1:]), strict=True), 1):
        if back > len(report.requests):
            return
        request = report.requests[-back]
        if request.broken_by == UNKNOWN and request.invocation_id == later.invocation_id:
            report.requests[-back] = replace(request, broken_by=cause_of(earlier, later))


def cause_of(before: Explanation, after: Explanation) -> str:
    """Why a provider did not find `before` at the start of `after`, as far as the requests tell."""
    found = _break_between()(before, after)
    return UNCHANGED if found is None else str(found)


def _request(event: Event, since: Sequence[Event], before: Request | None) -> Request:
    """What an event says of its request; `since` begins with the event of the request before it."""
    usage = event.usage_metadata
    assert usage is not None
    tokens, cached = usage.prompt_token_count or 0, usage.cached_content_token_count or 0
    request = Request(event.id, tokens, cached, 0, invocation_id=event.invocation_id)
    if before is None:
        return request
    repeated = min(before.tokens, tokens)
    if repeated < _LEAST or cached >= _HELD * repeated:
        return request
    return replace(request, paid_twice=repeated - cached, broken_by="; ".join(_causes(since)) or UNKNOWN)


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
