"""Sources: the databases that google-adk writes, opened for reading only."""

from __future__ import annotations

import os
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote

from newel.sessions.database.engine import asynchronous
from newel.sessions.sqlite.database import locate
from newel_compose import without_password
from newel_kernel import ConfigurationError, FeatureUnavailableError

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

Rows: TypeAlias = Sequence[Sequence[Any]]
#: How many rows are in memory at once.
CHUNK = 500
#: How many sessions are read at the same time.
READERS = 8


class Reader(ABC):
    """One connection. All its reads see the database at one moment."""

    @abstractmethod
    def rows(self, sql: str, values: Mapping[str, object]) -> AsyncIterator[Rows]:
        """The rows of a query with parameters :name, in batches."""


class Source(ABC):
    """A database."""

    #: The name for messages, without the password.
    label: str
    #: "sqlite", "postgresql" or "mysql".
    dialect: str

    @abstractmethod
    def reader(self) -> AbstractAsyncContextManager[Reader]:
        """A connection; at most `READERS` are open at the same time."""

    @abstractmethod
    async def close(self) -> None:
        """Close what is open."""


def opened(url: str) -> Source:
    """The database at a URL that google-adk accepts, or the SQLite file at a path."""
    scheme, colon, rest = url.partition("://")
    if not colon or scheme.partition("+")[0] == "sqlite":
        return _File(locate(f"sqlite://{rest}" if colon else url))
    return _Server(url)


class _File(Source):
    dialect = "sqlite"

    def __init__(self, path: str) -> None:
        self.label = repr(path)
        self._path = path
        if not os.path.isfile(path):
            raise ConfigurationError(f"there is no database {path!r} to import from: name google-adk's file")

    @asynccontextmanager
    async def reader(self) -> AsyncIterator[Reader]:
        with self._explained():
            connection = sqlite3.connect(f"file:{quote(self._path)}?mode=ro", uri=True, isolation_level=None)
        try:
            with self._explained():
                # Text that is not UTF-8 spoils its own row only.
                connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
                connection.execute("PRAGMA busy_timeout = 5000")
                connection.execute("BEGIN")
                yield _FileReader(connection)
        finally:
            connection.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise ConfigurationError(f"the database {self.label} cannot be read: {error}") from error

    async def close(self) -> None:
        """Do nothing: each reader closes its own connection."""


class _FileReader(Reader):
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def rows(self, sql: str, values: Mapping[str, object]) -> AsyncIterator[Rows]:
        cursor = self._connection.execute(sql, {name: _sql_value(value) for name, value in values.items()})
        while rows := cursor.fetchmany(CHUNK):
            yield rows


def _sql_value(value: object) -> object:
    if not isinstance(value, str) or value.isascii():
        return value
    data = value.encode("utf-8", "surrogateescape")
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


class _Server(Source):
    def __init__(self, url: str) -> None:
        self.label = repr(without_password(url))
        try:
            from sqlalchemy.engine import make_url
            from sqlalchemy.exc import ArgumentError
        except ImportError as error:
            raise FeatureUnavailableError("a server's database needs SQLAlchemy: pip install 'newel[db]'") from error
        try:
            parsed = make_url(url)
        except ArgumentError as error:
            raise ConfigurationError(f"{self.label} is not a database URL: write scheme://user@host/name") from error
        backend = parsed.get_backend_name()
        self.dialect = "mysql" if backend == "mariadb" else backend
        if self.dialect not in ("postgresql", "mysql"):
            raise ConfigurationError(f"{self.label}: name a database of SQLite, PostgreSQL, MariaDB or MySQL")
        self._url = parsed.set(drivername=backend)  # google-adk's URL may name a driver that is not asynchronous
        self._engine: AsyncEngine | None = None

    @asynccontextmanager
    async def reader(self) -> AsyncIterator[Reader]:
        with self._explained():
            if self._engine is None:
                self._engine = self._create_engine()
            async with self._engine.connect() as connection:
                yield _ServerReader(connection)

    def _create_engine(self) -> AsyncEngine:
        from sqlalchemy.ext.asyncio import create_async_engine

        return create_async_engine(
            asynchronous(self._url), pool_size=READERS + 1, max_overflow=0, isolation_level="REPEATABLE READ"
        )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        from sqlalchemy.exc import SQLAlchemyError

        try:
            yield
        except (SQLAlchemyError, OSError, TypeError) as error:
            cause = getattr(error, "orig", None) or error
            raise ConfigurationError(f"the database {self.label} cannot be read: {cause}") from error

    async def close(self) -> None:
        if self._engine is not None:
            await self._engine.dispose()


class _ServerReader(Reader):
    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def rows(self, sql: str, values: Mapping[str, object]) -> AsyncIterator[Rows]:
        from sqlalchemy import text

        async with self._connection.stream(text(sql), dict(values)) as result:
            async for rows in result.partitions(CHUNK):
                yield rows
