"""Book: the connections to the tables, and how a run comes into a queue of DBOS."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Concatenate, ParamSpec, TypeVar

import sqlalchemy
from dbos import DBOSClient, WorkflowSerializationFormat
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError, TimeoutError

from newel.sessions import StoreUnavailableError
from newel_dbos.access import Access
from newel_dbos.tables import prepare

# DBOS writes to the console by itself only if its logger has no handler.
logging.getLogger("dbos").addHandler(logging.NullHandler())

T = TypeVar("T")
P = ParamSpec("P")

#: What DBOS knows engine and workers by. Which code fits a run is in the queue's name.
APPLICATION = "newel"
VERSION = "1"
#: The workflow that hands a run to a worker.
WORKFLOW = "newel.run"
#: DBOS shares its queue out by tenant, and wants a name for each.
_NOBODY = "-"


class Book:
    """The tables of an engine. Its functions run in threads of its own, each in one transaction."""

    def __init__(self, access: Access, *, connections: int, tries_again: bool = False) -> None:
        self.access = access
        url = sqlalchemy.make_url(access.url).set(drivername="postgresql+psycopg")
        # No parameter is shown in an error: a spec is one. What a worker does is tried again, and needs no ping before.
        self.engine = sqlalchemy.create_engine(
            url, pool_size=connections, max_overflow=4, pool_pre_ping=not tries_again, hide_parameters=True
        )
        self._plain = self.engine.execution_options(isolation_level="AUTOCOMMIT")
        self.client = DBOSClient(
            system_database_engine=self.engine,
            dbos_system_schema=access.schema,
            application_name=APPLICATION,
            lazy=True,
            retry_connection_errors=False,
        )
        self._threads = ThreadPoolExecutor(connections + 2, thread_name_prefix="newel-dbos")
        self._ready: asyncio.Future[None] | None = None

    async def write(self, change: Callable[Concatenate[Page, P], T], /, *arguments: P.args, **named: P.kwargs) -> T:
        """Run `change` in a transaction; raises StoreUnavailableError if the database cannot be reached."""
        return await self.thread(self.change, change, *arguments, **named)

    def change(self, change: Callable[Concatenate[Page, P], T], /, *arguments: P.args, **named: P.kwargs) -> T:
        """Like `write`, in this thread."""
        try:
            with self.engine.begin() as connection:
                page = Page(self, connection)
                result = change(page, *arguments, **named)
        except SQLAlchemyError as error:
            raise _unavailable(error) from error
        if page.stale:
            with suppress(Exception):  # rows of DBOS's that nothing reads any more
                self.client.cancel_workflows(page.stale)
        return result

    def look(self, read: Callable[Concatenate[Page, P], T], /, *arguments: P.args, **named: P.kwargs) -> T:
        """Like `change`, without a transaction."""
        try:
            with self._plain.connect() as connection:
                return read(Page(self, connection), *arguments, **named)
        except SQLAlchemyError as error:
            raise _unavailable(error) from error

    async def thread(self, function: Callable[P, T], /, *arguments: P.args, **named: P.kwargs) -> T:
        """Run a function in a thread of the book's."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, lambda: function(*arguments, **named))

    async def ready(self) -> None:
        """Make the tables, once."""
        if self._ready is None or (self._ready.done() and (self._ready.cancelled() or self._ready.exception())):
            self._ready = asyncio.ensure_future(self.thread(self.prepare))
        await asyncio.shield(self._ready)

    def prepare(self) -> None:
        """Make the tables, in this thread."""
        try:
            prepare(self.access, self.engine)
        except SQLAlchemyError as error:
            raise _unavailable(error) from error

    def close(self) -> None:
        """Let go of the connections."""
        self._threads.shutdown(wait=True)
        self.client.destroy()
        self.engine.dispose()


class Page:
    """One transaction."""

    def __init__(self, book: Book, connection: sqlalchemy.Connection) -> None:
        self.access = book.access
        self._client = book.client
        self._connection = connection
        #: The workflows of DBOS that are over once the transaction is.
        self.stale: list[str] = []

    def query(self, statement: str, **named: Any) -> Sequence[Any]:
        """Run a statement; ``{runs}``, ``{workers}`` and ``{queues}`` are the tables."""
        tables = {name: f"{self.access.schema}.newel_{name}" for name in ("runs", "workers", "queues")}
        found = self._connection.exec_driver_sql(statement.format(**tables), named)
        return found.all() if found.returns_rows else ()

    def enqueue(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Have DBOS hand out these runs: each a row with `key`, `stretch`, `queue`, `tenant` and `priority`."""
        for row in rows:
            self._client.enqueue_in_transaction(
                self._connection,
                {
                    "workflow_name": WORKFLOW,
                    "workflow_id": workflow_id(row["key"], row["stretch"]),
                    "queue_name": row["queue"],
                    "app_version": VERSION,
                    "priority": row["priority"],
                    "queue_partition_key": row["tenant"] or _NOBODY,
                    "serialization_type": WorkflowSerializationFormat.PORTABLE,
                },
                row["key"],
                row["stretch"],
                row["queue"],
            )

    def hand_out(self, where: str, also: str = "", *, stale: bool = False, **named: Any) -> Sequence[Any]:
        """Put the runs that `where` finds into the queue of DBOS, each as a new stretch; `also` sets more columns.

        The workflows of the stretches before are `stale` if nobody runs them any more.
        """
        rows = self.query(
            "UPDATE {runs} SET state = 'queued', stretch = stretch + 1, waits = now(), due = NULL"
            + also
            + " WHERE key IN (SELECT key FROM {runs} WHERE "
            + where
            + " ORDER BY number LIMIT 500 FOR UPDATE SKIP LOCKED) RETURNING key, stretch, queue, "
            "spec::json->>'tenant' AS tenant, (spec::json->>'priority')::int AS priority",
            **named,
        )
        found = [row._mapping for row in rows]
        self.enqueue(found)
        if stale:
            self.stale += [workflow_id(row["key"], row["stretch"] - 1) for row in found]
        return rows


def workflow_id(key: str, stretch: int) -> str:
    """The workflow that hands a run out: it has the run's key, and later ones count."""
    return key if stretch == 1 else f"{key}#{stretch}"


def _unavailable(error: SQLAlchemyError) -> Exception:
    known = isinstance(error, OperationalError | InterfaceError | TimeoutError)
    if not known and not (isinstance(error, DBAPIError) and error.connection_invalidated):
        return error
    return StoreUnavailableError(f"the engine's database cannot be reached: {type(error.__cause__ or error).__name__}")
