"""`newel cache`: what a session's requests read from the providers' caches, and what broke them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, redirect_stdout

import click

from newel.cli.agent_sessions import AgentSessions, session_options, short, with_sessions
from newel.cli.cache_causes import name_causes
from newel.cli.context_lines import money, savings
from newel.cli.terminal import say, show_json, shown, to_terminal
from newel.explanation.caches import CacheReport, cache_reports


@click.command("cache")
@session_options
@click.argument("session_id")
@click.option("--why", is_flag=True, help="Rehearse turns whose prefix broke for no known cause, and name the step.")
@click.pass_context
def cache(ctx: click.Context, agent: str, session_id: str, user: str | None, sessions: str | None, why: bool) -> None:
    """Show how much of a session's requests was read from the provider's cache, and where a prefix broke and why.

    Tokens that had been sent before and were not read from the cache are paid twice. With --why, turns are rehearsed as
    `newel explain` does it: no model is asked and nothing is stored, but callbacks before the model call run.
    JSON, unless stdout is a terminal.
    """

    async def read(stored: AgentSessions) -> list[CacheReport]:
        session = await stored.whole(session_id)
        reports = cache_reports(session.events)
        if why:
            await name_causes(reports, session, stored)
        return reports

    with redirect_stdout(sys.stderr) if why else nullcontext():  # what callbacks print is not a line of JSON
        reports = with_sessions(ctx, agent, user, sessions, read)
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
            f"from the cache{savings(report.saved)}; {report.paid_twice:,} paid twice, {report.cleared} results cleared"
        )
        for request in report.breaks:
            event = short(request.event_id, ids)
            price = f" ({money(request.lost)})" if request.lost else ""
            yield f"  at event {event} {request.paid_twice:,} tokens again{price}: {shown(request.broken_by)}"


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
        "cost": report.cost,
        "saved": report.saved,
        "lost": report.lost,
        "breaks": [
            {"event": one.event_id, "paid_twice": one.paid_twice, "broken_by": one.broken_by} for one in report.breaks
        ],
    }
