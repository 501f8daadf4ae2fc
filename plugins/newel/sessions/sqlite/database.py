"""SqliteDatabase: one file, its schema, and its two connections, one that reads and one that writes."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import TypeVar

from newel.sessions.errors import StoreUnavailableError
from newel.sessions.sqlite.explained import Explained, explain
from newel.sessions.sqlite.place import Place
from newel.sessions.stored import clockwork
from newel.sessions.stored.dialects import CLOCK, SQLITE, in_order
from newel.sessions.stored.schema import FOREIGN, VERSION, check_version, google_adk, migration
from newel.sessions.stored.statements import Statements
from newel.sessions.stored.steps import Reply, Steps
from newel_compose import sqlite_path
from newel_kernel import ConfigurationError, SessionError

T = TypeVar("T")
MEMORY = ":memory:"
#: Marks the file as ours ("mort"), so that another program's database is not taken for an empty one of ours.
APPLICATION_ID = 0x6D6F7274
#: How long a write waits for another process's, in seconds.
PATIENCE = 15.0


class SqliteDatabase:
    """The file at `path`, created with its directories if it does not exist; ``:memory:`` is not a file.

    Any thread may use the reader, for short reads; the writer belongs to the caller within `writing`. In WAL mode
    neither waits for the other. `release` closes both, and the next use opens them again. A file that this process
    may not write can still be read; with `read_only` it is never written.
    """

    def __init__(self, path: str | os.PathLike[str], patience: float = PATIENCE, read_only: bool = False) -> None:
        self.path = locate(path)
        self.patience = patience
        self._reader: sqlite3.Connection | None = None
        self._writer: sqlite3.Connection | None = None
        self._closed = False
        self._place = Place(self.path, read_only)
        self._reset_locks()
        if read_only and not os.path.isfile(self.path):
            raise ConfigurationError(f"there is no session store {self.path!r}: name a file that exists")
        with self.reading() if self._place.is_read_only else self.writing():
            pass

    def _reset_locks(self) -> None:
        self._reading = clockwork.RLock()
        # A database in memory is one connection, so reading and writing take turns.
        self._writing = self._reading if self.path == MEMORY else clockwork.RLock()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection that reads; each statement sees one state of the file."""
        with self._reading, self.explained("read"):
            self.check_place()
            if self._reader is None:
                if self._place.is_read_only:
                    with closing(self._look()) as connection:
                        yield connection
                    return
                self._reader = self._writer if self.path == MEMORY else self.connect()
                assert self._reader is not None
            yield self._reader

    @contextmanager
    def apart(self) -> Iterator[sqlite3.Connection]:
        """A separate connection for one long read; a database in memory has only its one."""
        if self.path == MEMORY:
            with self.reading() as connection:
                yield connection
            return
        with self.explained("read"):
            connection = self._look() if self._place.is_read_only else self.connect()
        with closing(connection):
            yield connection

    def check_place(self) -> None:
        """Raise SessionError if the file is not at its path any more."""
        self._place.check()

    def check_files(self) -> None:
        """Raise SessionError unless what a transaction has written will survive a crash; called within it."""
        if self._writer is not None and self._place.is_unchanged:
            return
        self._place.check()
        if self.path != MEMORY and self._writer is not None:  # else the companions may come and go
            self._place.written()
            self._place.check_companions()

    def rescue_log(self, connection: sqlite3.Connection) -> None:
        """Write what a lost log holds into the file, and begin another log; LogLostError if others have the file."""
        if self._place.has_strange_companions:
            self._place.check_companions()
        with self._reading:
            if self._reader is not None:
                self._reader.close()
                self._reader = None
        try:  # it needs the file for itself, and so says whether anybody else has it open
            (mode,) = connection.execute("PRAGMA journal_mode = DELETE").fetchone()
        except sqlite3.OperationalError:
            mode = ""
        if mode != "delete":
            self._place.check_companions()
        self._place.closed()
        _write_ahead(connection, self.patience)

    def _look(self) -> sqlite3.Connection:
        """A connection for one read of a file that cannot be written."""
        if self._closed:
            raise SessionError(f"the session store {self.path!r} is closed")
        connection = self._place.open_to_read()
        try:
            offer_clock(connection)
            if _version(connection, self.path) != VERSION:
                raise ConfigurationError(
                    f"the session store {self.path!r} is of an older version, and read-only: open it once to write, "
                    f"as `newel sessions list` does"
                )
        except BaseException:
            connection.close()
            raise
        self._place.opened()
        return connection

    def writing(self, seconds: float = -1) -> _Turn:
        """The connection that writes; it has no transaction open. StoreUnavailableError if it is in use for so long."""
        return _Turn(self, self._writing, seconds)

    def writer(self) -> sqlite3.Connection:
        """The connection that writes, opened if it is not; called within `writing`."""
        if self._writer is None:
            if self._place.is_read_only:
                raise SessionError(
                    f"the session store {self.path!r} is read-only: make the file and its directory writable, "
                    f"or name another path"
                )
            self._writer = self._open_file()
        return self._writer

    def explained(self, action: str) -> Explained:
        """A block that turns sqlite3's errors into SessionErrors that name the file."""
        return Explained(self.path, action)

    def busy(self, seconds: float) -> StoreUnavailableError:
        """The error of a write that has waited so long for another process's."""
        return StoreUnavailableError(
            f"the session store {self.path!r} cannot be written: database is locked; another process has been "
            f"writing for {seconds:g} seconds: end it, or try again"
        )

    def release(self) -> None:
        """Close the connections; a database in memory keeps its own, or it would be gone."""
        with self._writing, self._reading:
            if self.path != MEMORY or self._closed:
                for connection in {self._reader, self._writer} - {None}:
                    assert connection is not None
                    connection.close()
                self._reader = self._writer = None
                self._place.closed()

    def close(self) -> None:
        """Close for good."""
        self._closed = True
        self.release()

    def _open_file(self) -> sqlite3.Connection:
        if self._closed:
            raise SessionError(f"the session store {self.path!r} is closed")
        connection: sqlite3.Connection | None = None
        try:
            if self.path != MEMORY:
                os.makedirs(os.path.dirname(self.path), exist_ok=True)
            connection = self.connect()
            _migrate(connection, self.path, self.patience)
            self._place.opened()
        except BaseException as error:
            if connection is not None:
                connection.close()
            if not isinstance(error, (sqlite3.Error, OSError)):
                raise
            raise ConfigurationError(f"the session store {self.path!r} cannot be opened: {explain(error)}") from error
        return connection

    def connect(self, seconds: float | None = None) -> sqlite3.Connection:
        """A connection that waits so many seconds for other processes' writes (None: as long as a write does)."""
        if self._closed:
            raise SessionError(f"the session store {self.path!r} is closed")
        self.check_place()  # else SQLite would make a new file there
        connection = sqlite3.connect(
            self.path,
            timeout=self.patience if seconds is None else seconds,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=64,
        )
        try:
            offer_clock(connection)
            # FULL, because NORMAL loses commits at a power failure; the second one is macOS's real fsync.
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA fullfsync = ON")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def before_fork(self) -> None:
        """No connection may cross a fork, not even to be closed: SQLite keeps its locks per process."""
        self._writing.acquire()
        self._reading.acquire()
        self.release()

    def after_fork_in_parent(self) -> None:
        """Continue; the connections open again when used."""
        self._reading.release()
        self._writing.release()

    def after_fork_in_child(self) -> None:
        """As in the parent, with new locks: a thread of the parent may have held the old ones."""
        self._reset_locks()


class _Turn:
    """The block of `SqliteDatabase.writing`. A class, because each commit has one."""

    __slots__ = ("_database", "_lock", "_seconds")

    def __init__(self, database: SqliteDatabase, lock: threading.RLock, seconds: float) -> None:
        self._database, self._lock, self._seconds = database, lock, seconds

    def __enter__(self) -> sqlite3.Connection:
        if not self._lock.acquire(timeout=self._seconds):
            raise StoreUnavailableError(
                f"the session store {self._database.path!r} cannot be written: it is being rewritten or opened; "
                f"try again"
            )
        try:
            return self._database.writer()
        except BaseException:
            self._lock.release()
            raise

    def __exit__(self, *_: object) -> None:
        self._lock.release()


#: The statements of every file.
STATEMENTS = Statements(SQLITE)


def run(connection: sqlite3.Connection, steps: Steps[T]) -> T:
    """The result of a read or a write."""
    try:
        query = next(steps)
        while True:
            statement = in_order(query.sql, "?")
            cursor = connection.execute(statement.text, statement.values(query.values))
            query = steps.send(Reply(cursor.fetchall(), cursor.rowcount))
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


def offer_clock(connection: sqlite3.Connection) -> None:
    """Let statements ask for the clock of leases."""
    connection.create_function(CLOCK, 0, lambda: clockwork.elapsed())


def locate(path: str | os.PathLike[str]) -> str:
    """The absolute path that `path` names; it may be a URI with SQLite's scheme, or with SQLAlchemy's scheme for it."""
    return sqlite_path(path, "session store", ("sqlite", "sqlite+aiosqlite"))


def _migrate(connection: sqlite3.Connection, path: str, patience: float) -> None:
    connection.execute("BEGIN")  # as of one moment: another process may be making the tables
    try:
        version = _version(connection, path)  # first of all, to leave another program's file unchanged
    finally:
        connection.execute("ROLLBACK")
    _write_ahead(connection, patience)
    if version == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Asked again, since another process may have migrated while this one waited.
        for step in range(_version(connection, path), VERSION):
            for statement in migration(SQLITE, step):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {step + 1:d}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID:d}")
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection, path: str) -> int:
    """The file's schema version, if it is ours."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    owner = int(connection.execute("PRAGMA application_id").fetchone()[0])
    tables = [
        name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    ]
    if owner != APPLICATION_ID and (owner or version or tables):
        columns = {name: [row[1] for row in connection.execute(f"PRAGMA table_info({name!r})")] for name in tables}
        if release := google_adk(columns):
            raise ConfigurationError(f"the session store {path!r} {FOREIGN.format(release)}")
        raise ConfigurationError(
            f"the session store {path!r} cannot be opened: it is another program's database "
            f"(tables: {', '.join(tables) or 'none'}); name another path"
        )
    return check_version(version, repr(path))


def _write_ahead(connection: sqlite3.Connection, patience: float) -> None:
    # SQLite does not wait when two processes that have just created the file both change its mode.
    end = clockwork.elapsed() + patience
    while True:
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            break
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or clockwork.elapsed() > end:
                raise
            clockwork.sleep(0.01)
    if mode not in ("wal", "memory"):
        raise sqlite3.OperationalError(f"readonly file system, or one without shared memory (journal mode {mode!r})")
