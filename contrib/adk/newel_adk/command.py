"""`newel sessions import-adk`: the sessions of a google-adk database, brought into a store of newel's."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from zoneinfo import ZoneInfo

import click

from newel.cli.conversation import open_store
from newel.cli.exit import run_loop
from newel.cli.startup import composition_of
from newel.cli.terminal import say, show_json, to_terminal
from newel_adk.sessions.importer import import_sessions
from newel_adk.sessions.layout import Choice
from newel_adk.sessions.report import Report, RowNote
from newel_kernel import ConfigurationError, Json


@click.command("import-adk")
@click.argument("url")
@click.option("--app", metavar="NAME", help="Only sessions of this app.")
@click.option("--user", metavar="ID", help="Only sessions of this user.")
@click.option("--session", metavar="ID", help="Only sessions of this id.")
@click.option("--dry-run", is_flag=True, help="Read everything, and write nothing.")
@click.option(
    "--time-zone",
    default="UTC",
    metavar="NAME",
    help="The time zone of times that releases before 1.22 wrote; by default UTC.",
)
@click.option("--sessions", metavar="URI", help="Where sessions are kept; by default .newel/sessions.db.")
@click.pass_context
def import_adk(
    ctx: click.Context,
    url: str,
    app: str | None,
    user: str | None,
    session: str | None,
    dry_run: bool,
    time_zone: str,
    sessions: str | None,
) -> None:
    """Import the sessions of a google-adk database: URL is that of its service, or an SQLite file.

    The database is only read. Run again, the command adds what is not there yet. It ends with status 1 if something
    did not come over, and says what.
    """
    try:
        zone = ZoneInfo(time_zone)
    except (KeyError, ValueError, OSError) as error:
        raise ConfigurationError(f"{time_zone!r} is not a time zone: write one such as Europe/Warsaw") from error
    store = None if dry_run else partial(open_store, composition_of(ctx, None), sessions)
    report = run_loop(import_sessions(url, store, Choice(app, user, session), zone=zone))
    if to_terminal():
        _show(report, dry_run)
    else:
        show_json(_as_json(report, dry_run))
    if not report.complete:
        ctx.exit(1)


def _as_json(report: Report, dry_run: bool) -> Json:
    data = asdict(report)
    return {"source": data.pop("source"), "dry_run": dry_run, "complete": report.complete, "order": _ORDER, **data}


_ORDER = "by time, events of one time in the order of their rows"


def _show(report: Report, dry_run: bool) -> None:
    say(f"from {report.source}; events are ordered {_ORDER}", dim=True)
    headings: tuple[tuple[str, list[RowNote]], ...] = (
        ("cannot be read, and is left out:", report.unreadable),
        ("belongs to no session, and is left out:", report.orphans),
        ("is unchanged in the store:", report.conflicts),
        ("was repaired:", report.repaired),
    )
    for heading, rows in headings:
        if rows:
            say(heading, bold=True)
            for row in rows:
                say(f"  {row}")
    for name, count in sorted(report.unknown_fields.items()):
        say(f"the field {name!r} of actions is not known here; {count} event(s) were imported without it")
    would = "would add" if dry_run else "added"
    say(
        f"{would} {report.sessions_added} sessions and {report.events_added} events, continued "
        f"{report.sessions_continued} sessions; {report.sessions_there} were already there"
    )
