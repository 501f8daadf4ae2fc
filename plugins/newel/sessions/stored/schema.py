"""The schema of a durable store, and the migrations from one version of it to the next."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from newel.sessions.stored.dialects import Dialect
from newel.sessions.stored.steps import Query, Steps
from newel_kernel import ConfigurationError

#: The statements that lead from schema version n to n + 1.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE {prefix}sessions (
            number {number},
            app_name {name} NOT NULL, user_id {name} NOT NULL, id {name} NOT NULL,
            version {integer} NOT NULL DEFAULT 0, lease {integer} NOT NULL DEFAULT 0,
            create_time {time}, update_time {time},
            UNIQUE (app_name, user_id, id)){table}""",
        """CREATE TABLE {prefix}events (
            session {integer} NOT NULL, sequence {integer} NOT NULL, timestamp {time}, data {data} NOT NULL,
            PRIMARY KEY (session, sequence)){clustered}""",
        """CREATE TABLE {prefix}session_state (
            session {integer} NOT NULL, {key} {name} NOT NULL, value {data} NOT NULL,
            PRIMARY KEY (session, {key})){clustered}""",
        """CREATE TABLE {prefix}user_state (
            app_name {name} NOT NULL, user_id {name} NOT NULL, {key} {name} NOT NULL, value {data} NOT NULL,
            PRIMARY KEY (app_name, user_id, {key})){clustered}""",
        """CREATE TABLE {prefix}app_state (
            app_name {name} NOT NULL, {key} {name} NOT NULL, value {data} NOT NULL,
            PRIMARY KEY (app_name, {key})){clustered}""",
    ),
    (
        "ALTER TABLE {prefix}sessions ADD COLUMN owner {text}",
        "ALTER TABLE {prefix}sessions ADD COLUMN lease_until {time}",
        # The version after the latest event that was not appended out of band.
        "ALTER TABLE {prefix}sessions ADD COLUMN in_band {integer} NOT NULL DEFAULT 0",
        "UPDATE {prefix}sessions SET in_band = version",
    ),
    # Pages of a list go by a user's sessions in the order of their creation.
    ("CREATE INDEX {index}sessions_in_order ON {prefix}sessions (app_name, user_id, number)",),
)
VERSION = len(MIGRATIONS)
TABLES = ("sessions", "events", "session_state", "user_state", "app_state")


def migration(dialect: Dialect, step: int, place: str = "") -> list[str]:
    """The statements from version `step` to the next; `place` is the schema with a dot, if one is chosen."""
    words = {**dialect.types, "key": dialect.key, "prefix": place + dialect.prefix, "index": dialect.prefix}
    return [statement.format(**words) for statement in MIGRATIONS[step]]


def check_version(version: int, store: str) -> int:
    """The version; refuses that of a later release."""
    if version > VERSION:
        raise ConfigurationError(
            f"the session store {store} has schema version {version}, this newel knows {VERSION}: "
            f"upgrade newel, or name another place"
        )
    return version


FOREIGN = (
    "is a database of google-adk ({}), which is not opened in place: name another place, and bring its sessions over "
    "with `newel sessions import-adk URL` (`pip install newel-adk`)"
)
_SCHEMA_EXISTS = "SELECT 1 FROM information_schema.schemata WHERE schema_name = ?1"


def not_to_read(store: str, place: str = "database") -> ConfigurationError:
    """What is wrong with a store that is only read, and whose tables are not there or are of an older version."""
    return ConfigurationError(
        f"the session store {store} has no sessions, or those of an older version, and is only read: name another "
        f"{place}, or open it once to write"
    )


class Schema:
    """The tables of a server's database, in the schema `place` (empty: the connection's own)."""

    def __init__(self, dialect: Dialect, place: str, store: str) -> None:
        self._dialect = dialect
        self._place = place
        self._dot = quoted(place)
        self._store = store
        self._version_table = f"{dialect.prefix}schema"

    def version(self) -> Steps[int]:
        """The version of the tables, 0 if there are none; refuses tables that are not newel's."""
        here = "current_schema()" if self._dialect.name == "postgresql" else "DATABASE()"
        where = "table_schema = ?1" if self._place else f"table_schema = {here}"
        where += f" AND table_name = '{self._version_table}'"
        place = (self._place,) if self._place else ()
        exists = Query(f"SELECT 1 FROM information_schema.tables WHERE {where}", place)
        if (yield exists).rows and (version := (yield from self._stored_version())) is not None:
            return version
        columns: dict[str, set[str]] = {}
        where = where.partition(" AND ")[0]
        for table, column in (
            yield Query(f"SELECT table_name, column_name FROM information_schema.columns WHERE {where}", place)
        ).rows:
            columns.setdefault(_text(table), set()).add(_text(column))
        if self._version_table in columns and (version := (yield from self._stored_version())) is not None:
            return version  # another process has made the tables meanwhile
        self._refuse_foreign(columns)
        return 0

    def _stored_version(self) -> Steps[int | None]:
        rows = (yield Query(f"SELECT version FROM {self._dot}{self._version_table}")).rows
        return check_version(int(rows[0][0]), self._store) if rows else None

    def _refuse_foreign(self, columns: Mapping[str, set[str]]) -> None:
        release = google_adk(columns)
        if release is not None:
            raise ConfigurationError(f"the session store {self._store} {FOREIGN.format(release)}")
        ours = [f"{self._dialect.prefix}{name}" for name in TABLES]
        if clashes := [name for name in ours if name in columns]:
            raise ConfigurationError(
                f"the session store {self._store} has tables of other programs under newel's names "
                f"({', '.join(clashes)}): name another schema or database"
            )

    def migration(self) -> Steps[None]:
        """Bring the tables to this version, in a transaction that no other process runs at the same time."""
        version = yield from self.version()
        table = f"{self._dot}{self._version_table}"
        if self._place and not (yield Query(_SCHEMA_EXISTS, (self._place,))).rows:
            yield Query(f"CREATE SCHEMA {self._dot.rstrip('.')}")
        yield Query(f"CREATE TABLE IF NOT EXISTS {table} (version {self._dialect.types['integer']} NOT NULL)")
        if not (yield Query(f"SELECT version FROM {table}")).rows:
            yield Query(f"INSERT INTO {table} (version) VALUES (0)")
        for step in range(version, VERSION):
            for statement in migration(self._dialect, step, self._dot):
                yield Query(statement)
            yield Query(f"UPDATE {table} SET version = ?1", (step + 1,))


def quoted(schema: str) -> str:
    """A schema's quoted name with a dot, to put before a table's name."""
    if "\0" in schema:
        raise ConfigurationError(f"{schema!r} is not a schema name")
    return '"{}".'.format(schema.replace('"', '""')) if schema else ""


def google_adk(columns: Mapping[str, Collection[str]]) -> str | None:
    """The releases of google-adk that make these tables (their names, with their columns), or None."""
    events = columns.get("events", ())
    if not {"app_states", "user_states", "sessions"} <= columns.keys() or "invocation_id" not in events:
        return None
    if "event_data" not in events:
        return "a release before 1.22, with pickled actions: schema v0"
    return "release 1.22 or later: schema v1" if "adk_internal_metadata" in columns else "its SqliteSessionService"


def _text(name: str | bytes) -> str:
    return name.decode() if isinstance(name, bytes) else name
