"""`newel cache`: what a session's requests read from the providers' caches, and what broke them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from newel.cli.agent_sessions import session_options, short, with_sessions
from newel.cli.terminal import say, show_json, shown, to_terminal
from newel.explanation.caches import CacheReport, cache_reports


@click.command("cache")
@session_options
@click.argument("session_id")
@click.pass_context
def cache(ctx: click.Context, agent: str, session_id: str, user: str | None, sessions: str | None) -> None:
    """Show how much of a session's requests was read from the provider's cache, and where a prefix broke and why.

    Tokens that had been sent before and were not read from the cache are paid twice. JSON, unless stdout is a terminal.
    """
    session = with_sessions(ctx, agent, user, sessions, lambda stored: stored.whole(session_id))
    reports = cache_reports(session.events)
    if not to_terminal():
        show_json([_facts(report) for report in reports])
        return
    for line in lines_of(reports):
        say(line)


def lines_of(reports: Sequence[CacheReport]) -> Iterator[str]:
    """What the reports say to people: a line for each agent, and one for each prefix that broke."""
    if not reports:
        yield "no model has said how many tokens it was sent"
    ids = [request.event_id for report in reports for request in report.requests]
    for report in reports:
        count, agent = len(report.requests), shown(report.agent)
        yield (
            f"{agent}: {report.tokens:,} tokens in {count} request{'' if count == 1 else 's'}, {report.hit_ratio:.0%} "
            f"from the cache, {report.paid_twice:,} paid twice, {report.cleared} results cleared"
        )
        for request in report.breaks:
            event = short(request.event_id, ids)
            yield f"  at event {event} {request.paid_twice:,} tokens again: {shown(request.broken_by)}"


def _facts(report: CacheReport) -> dict[str, object]:
    return {
        "agent": report.agent,
        "branch": report.branch,
        "requests": len(report.requests),
        "tokens": report.tokens,
        "cached": report.cached,
        "hit_ratio": round(report.hit_ratio, 4),
        "paid_twice": report.paid_twice,
        "cleared": report.cleared,
        "breaks": [
            {"event": one.event_id, "paid_twice": one.paid_twice, "broken_by": one.broken_by} for one in report.breaks
        ],
    }
