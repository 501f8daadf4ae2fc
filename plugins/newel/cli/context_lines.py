"""Context lines: what a turn sent to models, in plain words: what a cache gave, what was paid twice, and cleared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from newel.cli.terminal import shown
from newel.explanation.caches import CacheReport, Request, cache_reports
from newel.explanation.explanation import Explanation
from newel.flows.context_budget.edits import edits_of
from newel_kernel import Event


def turn_lines(events: Sequence[Event], explanations: Sequence[Explanation] = ()) -> Iterator[str]:
    """What the latest turn of a session sent: a line for each agent, and what is worth telling of it."""
    if not events:
        yield "nothing was sent yet"
        return
    turn = events[-1].invocation_id
    told = False
    for report in cache_reports(events, explanations):
        requests = [request for request in report.requests if request.invocation_id == turn]
        if requests:
            told = True
            yield _sent(report, requests)
            yield from (f"  {line}" for line in _paid_twice(requests))
    if not told:
        yield "the model does not say how many tokens it was sent"
    cleared = sum(len(edits_of(event)) for event in events if event.invocation_id == turn)
    if cleared:
        results, them = ("1 old tool result is", "it") if cleared == 1 else (f"{cleared} old tool results are", "them")
        yield f"  to make room, {results} no longer sent in full; the model can read {them} again with read_result"


def money(amount: float) -> str:
    """An amount in US dollars: ``$0.0042``."""
    return f"${amount:.4f}"


def savings(saved: float | None) -> str:
    """What a cache saved, as the end of a sentence; empty if no price is known, or nothing was read or written."""
    if not saved:
        return ""
    return f", which saved {money(saved)}" if saved > 0 else f"; filling the cache cost {money(-saved)} extra"


def _sent(report: CacheReport, requests: Sequence[Request]) -> str:
    part = CacheReport(report.agent, report.branch, list(requests))
    count = f"{len(requests)} request{'' if len(requests) == 1 else 's'}"
    cached = f"{part.hit_ratio:.0%} of them from the cache" if part.cached else "none of them from a cache"
    return f"{shown(report.agent)} sent {part.tokens:,} tokens in {count}, {cached}{savings(part.saved)}"


def _paid_twice(requests: Sequence[Request]) -> Iterator[str]:
    for request in requests:
        if request.broken_by:
            price = f" ({money(request.lost)})" if request.lost else ""
            yield f"{request.paid_twice:,} tokens were sent before and paid again{price}: {shown(request.broken_by)}"
