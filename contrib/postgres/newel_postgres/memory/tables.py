"""Tables: those of a memory, and what makes them."""

from __future__ import annotations

from newel.memory import MemoryStoreError
from newel.sessions.stored.schema import quoted
from newel.sessions.stored.steps import Query, Steps

VERSION = 1
_SCHEMA = (
    """CREATE TABLE {owners} (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        app text COLLATE "C" NOT NULL, user_id text COLLATE "C" NOT NULL,
        entries bigint NOT NULL DEFAULT 0, length bigint NOT NULL DEFAULT 0,
        UNIQUE (app, user_id))""",
    # `facts` are the metadata's plain values, by which a filter finds them; jsonb refuses NUL.
    """CREATE TABLE {entries} (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        owner bigint NOT NULL REFERENCES {owners} ON DELETE CASCADE,
        session text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL, is_event boolean NOT NULL,
        author text, timestamp text, at double precision, content text NOT NULL, metadata text NOT NULL,
        facts text[] NOT NULL, words tsvector NOT NULL, length integer NOT NULL,
        UNIQUE (owner, session, key))""",
    "CREATE INDEX newel_memory_words ON {entries} USING gin (words)",
)
#: Asked of the rows: what `to_regclass` says may be from before another process's transaction.
_THERE = (
    "SELECT 1 FROM pg_catalog.pg_class AS t JOIN pg_catalog.pg_namespace AS n ON n.oid = t.relnamespace "
    "WHERE t.relname = 'newel_memory_schema' AND n.nspname = coalesce(nullif(CAST(?1 AS text), ''), current_schema())"
)


class Tables:
    """The tables in `schema` (empty: the connection's own)."""

    def __init__(self, schema: str, shown: str) -> None:
        place = quoted(schema)
        self._schema = schema
        self._shown = shown
        self.owners = f"{place}newel_memory_owners"
        self.entries = f"{place}newel_memory_entries"
        self._version = f"{place}newel_memory_schema"

    def version(self) -> Steps[int]:
        """The version of the tables, 0 where there are none."""
        if not (yield Query(_THERE, (self._schema,))).rows:
            return 0
        rows = (yield Query(f"SELECT version FROM {self._version}")).rows
        version = int(rows[0][0]) if rows else 0
        if version > VERSION:
            raise MemoryStoreError(
                f"the memory {self._shown} was written by a later newel-postgres (schema {version}, this one knows "
                f"{VERSION}): upgrade it"
            )
        return version

    def make(self) -> Steps[None]:
        """Make the tables, in a transaction that nobody else has at the same time."""
        if (yield from self.version()) == VERSION:
            return
        if self._schema:
            yield Query(f"CREATE SCHEMA IF NOT EXISTS {quoted(self._schema).rstrip('.')}")
        for statement in _SCHEMA:
            yield Query(statement.format(owners=self.owners, entries=self.entries))
        yield Query(f"CREATE TABLE {self._version} (version bigint NOT NULL)")
        yield Query(f"INSERT INTO {self._version} VALUES (?1)", (VERSION,))
