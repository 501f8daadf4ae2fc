"""`newel sessions import`: exported sessions, brought into a store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import click

from newel.cli.conversation import open_store
from newel.cli.exit import run_loop
from newel.cli.startup import composition_of
from newel.cli.terminal import say, shown
from newel.sessions.documents import Document, read_document, take_in
from newel.sessions.stored.service import StoredSessionService
from newel_kernel import BaseSessionService, ConfigurationError


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--sessions", metavar="URI", help="Where sessions are kept; by default .newel/sessions.db.")
@click.pass_context
def import_sessions(ctx: click.Context, files: tuple[Path, ...], sessions: str | None) -> None:
    """Import FILES that `newel sessions export` wrote. Run again, it adds only what is missing."""
    _import_files(files, partial(open_store, composition_of(ctx, None), sessions))


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
        say(f"{shown(document.key.id)} of {shown(document.key.user_id)}: {did}")


def _read(file: Path) -> Document:
    try:
        return read_document(file.read_bytes())
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be read: {error.strerror or error}") from error
    except ConfigurationError as error:
        raise ConfigurationError(f"{file}: {error}") from error
