"""Upkeep of a store's file: copying it while it is in use, and giving back the space of deleted data."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from uuid import uuid4

from newel.sessions.sqlite.database import SqliteDatabase
from newel.sessions.sqlite.explained import explain
from newel_kernel import ConfigurationError


def vacuum(database: SqliteDatabase) -> None:
    """Rewrite the file without deleted data, and empty its log."""
    with database.writing() as connection, database.explained("written"):
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def backup(database: SqliteDatabase, target: str) -> None:
    """Copy the file, as it is at one moment, to `target`, which appears whole or not at all."""
    target = os.path.abspath(target)
    if os.path.lexists(target):
        raise ConfigurationError(f"{target} exists already: name another file for the backup")
    unfinished = f"{target}.{uuid4().hex[:8]}.unfinished"
    try:
        _copy(database, unfinished)
        os.rename(unfinished, target)
        _sync(os.path.dirname(target))
    except (sqlite3.Error, OSError) as error:
        why = explain(error) if isinstance(error, sqlite3.Error) else error.strerror or error
        raise ConfigurationError(f"the backup {target} cannot be written: {why}") from error
    finally:
        for name in (unfinished, f"{unfinished}-journal", f"{unfinished}-wal", f"{unfinished}-shm"):
            with suppress(OSError):
                os.unlink(name)


def _copy(database: SqliteDatabase, target: str) -> None:
    # Created here and not by SQLite, so that only its owner can read it, and a missing folder is reported as such.
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    with database.apart() as source, closing(sqlite3.connect(target, isolation_level=None)) as copy:
        source.backup(copy)  # in one step: a copy of one moment, never restarted because others write
        copy.execute("PRAGMA journal_mode = DELETE").fetchall()  # one file, without a log next to it
    _sync(target)


def _sync(path: str) -> None:
    place = os.open(path, os.O_RDONLY)
    try:
        os.fsync(place)
    finally:
        os.close(place)
