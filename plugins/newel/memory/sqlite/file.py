"""MemoryFile: one SQLite file, its schema, and its two connections, one that reads and one that writes."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from newel.memory.errors import MemoryStoreError, MemoryUnavailableError
from newel.memory.sqlite.binding import binding
from newel_compose import sqlite_path
from newel_kernel import ConfigurationError, NewelError

T = TypeVar("T")
MEMORY = ":memory:"
#: Marks the file as a memory of ours ("mmry"), so that another program's database is not taken for one.
APPLICATION_ID = 0x6D6D7279
VERSION = 1
#: How long a write waits for another process's, in seconds.
BUSY_SECONDS = 30.0
_SCHEMA = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    # AUTOINCREMENT: the number of a forgotten user, or of an entry, is never used again.
    "CREATE TABLE owners (number INTEGER PRIMARY KEY AUTOINCREMENT, app TEXT NOT NULL, user TEXT NOT NULL, "
    "UNIQUE (app, user))",
    "CREATE TABLE entries (number INTEGER PRIMARY KEY AUTOINCREMENT, owner INTEGER NOT NULL, session TEXT NOT NULL, "
    "key TEXT NOT NULL, is_event INTEGER NOT NULL, author TEXT, timestamp TEXT, at REAL, content BLOB NOT NULL, "
    "metadata TEXT NOT NULL, text TEXT NOT NULL, UNIQUE (owner, session, key))",
    # Marks belong to their letters, as in Hindi.
    "CREATE VIRTUAL TABLE words USING fts5(terms, tokenize = \"unicode61 remove_diacritics 2 categories 'L* N* Co Mn "
    "Mc'\")",
)


class MemoryFile:
    """The file at `path`, created with its directories if it does not exist; ``:memory:`` is none.

    In WAL mode reading does not wait for writing. After a fork the child opens connections of its own.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = sqlite_path(path, "memory")
        self._closed = False
        self._begin()
        self.write(lambda connection: None)

    def _begin(self) -> None:
        self._process = os.getpid()
        self._reader: sqlite3.Connection | None = None
        self._writer: sqlite3.Connection | None = None
        self._reading = threading.RLock()
        # A database in memory is one connection, so that reading and writing take turns.
        self._writing = self._reading if self.path == MEMORY else threading.RLock()

    def read(self, question: Callable[[sqlite3.Connection], T]) -> T:
        """The answer to `question`, which sees one state of the file."""
        self._check()
        with self._reading, self._explained("read"):
            if self._reader is None:
                self._reader = self._writer if self.path == MEMORY else self._connect()
            assert self._reader is not None
            return _within(self._reader, "BEGIN", question)

    def write(self, change: Callable[[sqlite3.Connection], T]) -> T:
        """Apply `change` as a whole, or not at all."""
        self._check()
        with self._writing, self._explained("written"):
            return _within(self._open(), "BEGIN IMMEDIATE", change)

    def purge(self) -> None:
        """Purge deleted data from the file: from the index, and from the write-ahead log."""
        self._check()
        with self._writing, self._explained("written"):
            connection = self._open()
            connection.execute("INSERT INTO words (words) VALUES ('optimize')")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        """Close the connections for good."""
        self._closed = True
        if self._process != os.getpid():
            return  # they are the parent's
        with self._writing, self._reading:
            for connection in {self._reader, self._writer} - {None}:
                assert connection is not None
                connection.close()
            self._reader = self._writer = None

    def _check(self) -> None:
        if self._closed:
            raise MemoryStoreError(f"the memory {self.path!r} is closed")
        if self._process != os.getpid():
            self._lost = (self._reader, self._writer)  # not even to be closed: SQLite keeps its locks per process
            self._begin()

    def _open(self) -> sqlite3.Connection:
        if self._writer is None:
            if self.path != MEMORY:
                try:
                    os.makedirs(os.path.dirname(self.path), exist_ok=True)
                except OSError as error:
                    raise ConfigurationError(f"the memory {self.path!r} cannot be opened: {error}") from error
            connection = self._connect()
            try:
                _migrate(connection, self.path)
            except BaseException:
                connection.close()
                raise
            self._writer = connection
        return self._writer

    def _connect(self) -> sqlite3.Connection:
        connection = binding().connect(self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    @contextmanager
    def _explained(self, action: str) -> Iterator[None]:
        """Turns the errors of SQLite into MemoryStoreErrors that name the file."""
        try:
            yield
        except NewelError:
            raise
        except binding().Error as error:
            text = f"the memory {self.path!r} cannot be {action}: {error}"
            if "locked" in str(error):
                raise MemoryUnavailableError(f"{text}; another process is writing: try again") from error
            raise MemoryStoreError(f"{text}{_remedy(str(error))}") from error


def _within(connection: sqlite3.Connection, begin: str, work: Callable[[sqlite3.Connection], T]) -> T:
    connection.execute(begin)
    try:
        result = work(connection)
        connection.execute("COMMIT")
    except BaseException:
        with suppress(binding().Error):
            connection.execute("ROLLBACK")
        raise
    return result


def _migrate(connection: sqlite3.Connection, path: str) -> None:
    # First of all, to leave another program's file unchanged; in one transaction: another process may make the tables.
    version = _within(connection, "BEGIN", lambda connection: _version(connection, path))
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    if version == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        if _version(connection, path) < VERSION:  # another process may have made the tables meanwhile
            for statement in _SCHEMA:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {VERSION:d}")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID:d}")
        connection.execute("COMMIT")
    except BaseException:
        with suppress(binding().Error):
            connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection, path: str) -> int:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    owner = int(connection.execute("PRAGMA application_id").fetchone()[0])
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if owner != APPLICATION_ID and (owner or version or tables):
        raise ConfigurationError(
            f"the memory {path!r} cannot be opened: the file is another program's database, or a store of sessions; "
            f"a memory has a file of its own"
        )
    if version > VERSION:
        raise ConfigurationError(
            f"the memory {path!r} was written by a later newel (schema {version}, this one knows {VERSION}): upgrade"
        )
    return version


def _remedy(text: str) -> str:
    return next((f"; {remedy}" for sign, remedy in _REMEDIES if sign in text), "")


_REMEDIES = (
    ("not a database", "it is another kind of file: name another path, or move it away"),
    ("malformed", "the file is damaged: restore a backup, or add the sessions to a new one"),
    ("readonly", "make the file and its directory writable, or name another path"),
    ("unable to open", "name a path in a directory that exists or can be made, and that is writable"),
    ("full", "free space on the disk and try again"),
    ("no such module: fts5", "this Python's SQLite has no full text search: pip install pysqlite3-binary"),
)
