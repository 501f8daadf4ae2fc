"""Tables: a memory's tables, and the statements that make them."""

from __future__ import annotations

from newel.memory import MemoryStoreError
from newel.sessions.stored.schema import quoted
from newel.sessions.stored.steps import Query, Steps
from newel_kernel import ConfigurationError

VERSION = 3
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
#: One row: the embedder whose vectors a search uses (no name: no vectors), and the last generation that was begun.
_SECOND = (
    "CREATE TABLE {embedder} (name text, dimension integer NOT NULL DEFAULT 0, generation bigint NOT NULL DEFAULT 0, "
    "begun bigint NOT NULL DEFAULT 0)",
    "INSERT INTO {embedder} DEFAULT VALUES",
    # With it, every search reads the entries that inserts left pending, once for each of its words.
    "ALTER INDEX {place}newel_memory_words SET (fastupdate = off)",
)
#: How many of a user's entries each word is in: counting them in the index takes milliseconds for a common word.
_THIRD = (
    "LOCK TABLE {entries} IN SHARE ROW EXCLUSIVE MODE",
    """CREATE TABLE {terms} (
        owner bigint NOT NULL REFERENCES {owners} ON DELETE CASCADE, lexeme text COLLATE "C" NOT NULL,
        entries bigint NOT NULL, PRIMARY KEY (owner, lexeme)) WITH (fillfactor = 80)""",
    "INSERT INTO {terms} (owner, lexeme, entries) SELECT owner, lexeme, count(*) "
    "FROM {entries}, unnest(tsvector_to_array(words)) AS lexeme GROUP BY owner, lexeme",
)
#: Vectors of any dimension, so that a conversion adds rows and no table. The bits have their own table: a search reads
#: all of a user's bits, so their rows have to be small.
_VECTORS = (
    "DROP TABLE IF EXISTS {vectors}, {bits}",
    """CREATE TABLE {vectors} (
        number bigint NOT NULL REFERENCES {entries} ON DELETE CASCADE, generation bigint NOT NULL,
        owner bigint NOT NULL, vector {extension}vector NOT NULL, PRIMARY KEY (number, generation))""",
    "CREATE INDEX newel_memory_vectors_of ON {vectors} (owner, generation)",
    """CREATE TABLE {bits} (
        number bigint NOT NULL REFERENCES {entries} ON DELETE CASCADE, generation bigint NOT NULL,
        owner bigint NOT NULL, bits bit varying NOT NULL, PRIMARY KEY (number, generation))""",
    "CREATE INDEX newel_memory_bits_of ON {bits} (owner, generation)",
    "UPDATE {embedder} SET name = NULL",
)
_IN_SCHEMA = "n.nspname = coalesce(nullif(CAST(?1 AS text), ''), current_schema())"
#: Read from the catalog's rows: the answer of `to_regclass` may date from before another process's transaction.
_TABLES_EXIST = (
    "SELECT 1 FROM pg_catalog.pg_class AS t JOIN pg_catalog.pg_namespace AS n ON n.oid = t.relnamespace "
    f"WHERE t.relname = 'newel_memory_schema' AND {_IN_SCHEMA}"
)
#: Dropping the extension drops the column, even if the extension is created again.
_VECTORS_EXIST = (
    "SELECT 1 FROM pg_catalog.pg_class AS t JOIN pg_catalog.pg_namespace AS n ON n.oid = t.relnamespace "
    "JOIN pg_catalog.pg_attribute AS c ON c.attrelid = t.oid AND c.attname = 'vector' AND NOT c.attisdropped "
    f"WHERE t.relname = 'newel_memory_vectors' AND {_IN_SCHEMA}"
)
_EXTENSION = (
    "SELECT n.nspname, e.extversion FROM pg_catalog.pg_extension AS e "
    "JOIN pg_catalog.pg_namespace AS n ON n.oid = e.extnamespace WHERE e.extname = 'vector'"
)
#: The first version of pgvector that has bits.
_OLDEST = (0, 7)


class Tables:
    """The tables in `schema` (empty: the connection's own)."""

    def __init__(self, schema: str, label: str) -> None:
        place = quoted(schema)
        self._schema = schema
        self._place = place
        self._shown = label
        self.owners = f"{place}newel_memory_owners"
        self.entries = f"{place}newel_memory_entries"
        self.terms = f"{place}newel_memory_terms"
        self.embedder = f"{place}newel_memory_embedder"
        self.vectors = f"{place}newel_memory_vectors"
        self.bits = f"{place}newel_memory_bits"
        #: The prefix of pgvector's names, once `extended` has found the extension.
        self.extension = ""
        self._version = f"{place}newel_memory_schema"

    def version(self) -> Steps[int]:
        """The version of the tables, 0 if there are none."""
        if not (yield Query(_TABLES_EXIST, (self._schema,))).rows:
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
        """Make the tables, in a transaction that no other process runs at the same time."""
        version = yield from self.version()
        if version == VERSION:
            return
        if not version:
            if self._schema:
                yield Query(f"CREATE SCHEMA IF NOT EXISTS {quoted(self._schema).rstrip('.')}")
            yield from self._run(_SCHEMA)
            yield Query(f"CREATE TABLE {self._version} (version bigint NOT NULL)")
            yield Query(f"INSERT INTO {self._version} VALUES (?1)", (VERSION,))
        if version < 2:
            yield from self._run(_SECOND)
        yield from self._run(_THIRD)
        yield Query(f"UPDATE {self._version} SET version = ?1", (VERSION,))

    def extended(self) -> Steps[bool]:
        """Whether the database has pgvector, which may be in any schema."""
        rows = (yield Query(_EXTENSION)).rows
        if not rows:
            return False
        schema, version = rows[0]
        if tuple(int(part) for part in version.split(".")[:2]) < _OLDEST:
            raise ConfigurationError(
                f"the memory {self._shown} has pgvector {version}: vectors need 0.7 or later; upgrade it on the server "
                f"and have ALTER EXTENSION vector UPDATE run in the database"
            )
        self.extension = quoted(schema)
        return True

    def with_vectors(self) -> Steps[bool]:
        """Whether the tables of vectors exist."""
        return bool((yield Query(_VECTORS_EXIST, (self._schema,))).rows)

    def make_vectors(self) -> Steps[None]:
        """Make the tables of vectors if they do not exist, in a transaction as for `make`."""
        if not (yield from self.with_vectors()):
            yield from self._run(_VECTORS)

    def _run(self, statements: tuple[str, ...]) -> Steps[None]:
        for statement in statements:
            yield Query(
                statement.format(
                    owners=self.owners,
                    entries=self.entries,
                    terms=self.terms,
                    embedder=self.embedder,
                    vectors=self.vectors,
                    bits=self.bits,
                    extension=self.extension,
                    place=self._place,
                )
            )
