"""`newel sessions import`: exported sessions, or those of a google-adk database, brought into a store of newel's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import click

from newel.cli.conversation import open_store
from newel.cli.leaving import run_loop
from newel.cli.startup import composition_of
from newel.cli.terminal import say, show_json, to_terminal
from newel.sessions import adk_import
from newel.sessions.documents import Document, read_document, take_in
from newel.sessions.stored.service import StoredSessionService
from newel_kernel import BaseSessionService, ConfigurationError, Json

if TYPE_CHECKING:
    from newel.sessions.adk_import import Left, Report


@click.command("import")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option("--from-adk", "url", metavar="URL", help="A google-adk database: its URL, or an SQLite file.")
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
def import_sessions(
    ctx: click.Context,
    files: tuple[Path, ...],
    url: str | None,
    app: str | None,
    user: str | None,
    session: str | None,
    dry_run: bool,
    time_zone: str,
    sessions: str | None,
) -> None:
    """Take in FILES of `newel sessions export`, or bring the sessions of a google-adk database over.

    Both are only read. Run again, it adds what is not there yet. It ends with status 1 if something of a database
    did not come over, and says what.
    """
    composition = composition_of(ctx, None)
    if bool(files) == (url is not None):
        raise ConfigurationError("name files that `newel sessions export` wrote, or --from-adk URL, and not both")
    if url is None:
        if app or user or session or dry_run:
            raise ConfigurationError("--app, --user, --session and --dry-run go with --from-adk")
        _import_files(files, partial(open_store, composition, sessions))
        return
    try:
        zone = ZoneInfo(time_zone)
    except (KeyError, ValueError, OSError) as error:
        raise ConfigurationError(f"{time_zone!r} is not a time zone: write one such as Europe/Warsaw") from error
    store = None if dry_run else partial(open_store, composition, sessions)
    choice = adk_import.Choice(app, user, session)
    report = run_loop(adk_import.import_sessions(url, store, choice, zone=zone))
    if to_terminal():
        _show(report, dry_run)
    else:
        show_json(_as_json(report, dry_run))
    if not report.complete:
        ctx.exit(1)


def _import_files(files: Sequence[Path], open_: Callable[[], BaseSessionService]) -> None:
    """Take in exported sessions; all are read and checked before the store is opened."""
    documents = [_read(file) for file in files]

    async def run() -> list[bool]:
        store = open_()
        try:
            if not isinstance(store, StoredSessionService):
                raise ConfigurationError(
                    f"{type(store).__name__} cannot take in sessions: name an SQLite file, or a database of "
                    f"PostgreSQL, MariaDB or MySQL"
                )
            return [await take_in(store, one) for one in documents]
        finally:
            await store.close()

    for document, added in zip(documents, run_loop(run()), strict=True):
        did = f"added, with {len(document.events)} events" if added else "was already there"
        say(f"{document.key.id} of {document.key.user_id}: {did}")


def _read(file: Path) -> Document:
    try:
        return read_document(file.read_bytes())
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be read: {error.strerror or error}") from error
    except ConfigurationError as error:
        raise ConfigurationError(f"{file}: {error}") from error


def _as_json(report: Report, dry_run: bool) -> Json:
    data = asdict(report)
    return {"source": data.pop("source"), "dry_run": dry_run, "complete": report.complete, "order": _ORDER, **data}


_ORDER = "by time, events of one time in the order of their rows"


def _show(report: Report, dry_run: bool) -> None:
    say(f"from {report.source}; events are ordered {_ORDER}", dim=True)
    headings: tuple[tuple[str, list[Left]], ...] = (
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
