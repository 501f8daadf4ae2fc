"""Book: the connections to the tables, and how a run comes into a queue of DBOS."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from hashlib import sha256
from typing import Any, Concatenate, ParamSpec, TypeVar

import sqlalchemy
from dbos import DBOSClient, WorkflowSerializationFormat
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError, TimeoutError

from newel.engines import EngineUnavailableError, InvocationSpec
from newel.engines.places import Place, place_of
from newel_dbos.access import Access
from newel_dbos.specs import known_of
from newel_dbos.tables import prepare
from newel_kernel import NewelError

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
#: The least seconds after which the server ends a transaction in which nothing happens: a busy machine may pause one.
_LEAST_IDLE = 10.0
#: Seconds after its last use in which an engine lets go of its connection: a worker's process then has its own alone.
_UNUSED = 30.0
#: What PostgreSQL says when it, a database or a user has no connection left.
_FULL = re.compile(r"too many (clients|connections)|connection slots are reserved")
#: The most runs that one statement hands out.
MOST = 500


def served(run: str) -> str:
    """Whether a worker is there for the queue of a run, which SQL knows by the name `run`."""
    return "EXISTS (SELECT FROM {queues} AS q WHERE q.queue = " + run + ".queue AND q.lapses > now())"


#: Whether it is the turn of the run `r` in its session: no other one runs, and none waits that was submitted before.
#: One for another version, of which no worker is there, lets others pass.
TURN = (
    "(r.session = '' OR NOT EXISTS (SELECT FROM {runs} AS o WHERE o.session = r.session AND o.state = 'running' AND "
    "o.key <> r.key) AND NOT EXISTS (SELECT FROM {runs} AS o WHERE o.session = r.session AND o.state = 'queued' AND "
    "NOT o.cancelled AND o.number < r.number AND (o.queue = r.queue OR " + served("o") + ")))"
)


class StatementRefusedError(NewelError):
    """The database has refused a statement. The text is the class of its error: its own text may quote a message."""


class Book:
    """The tables of an engine. Its functions run in threads of its own, each in one transaction."""

    def __init__(self, access: Access, *, connections: int, tries_again: bool = False) -> None:
        self.access = access
        url = sqlalchemy.make_url(access.url).set(drivername="postgresql+psycopg")
        # No parameter is shown in an error: a spec is one. What a worker does is tried again, and needs no ping before.
        self.engine = sqlalchemy.create_engine(
            url, pool_size=connections, max_overflow=4, pool_pre_ping=not tries_again, hide_parameters=True
        )
        sqlalchemy.event.listen(self.engine, "connect", self._connected)
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
        self._stays = tries_again
        self._unused: asyncio.TimerHandle | None = None

    def _connected(self, connection: Any, _: Any) -> None:
        """A process that is frozen in a transaction must not keep its rows from others for longer than its runs."""
        with connection.cursor() as cursor:
            seconds = max(self.access.heartbeat, _LEAST_IDLE)
            cursor.execute(f"SET idle_in_transaction_session_timeout = {math.ceil(seconds * 1000)}")
        connection.commit()

    async def write(self, change: Callable[Concatenate[Page, P], T], /, *arguments: P.args, **named: P.kwargs) -> T:
        """Run `change` in a transaction; raises EngineUnavailableError if the database cannot be reached."""
        return await self.thread(self.change, change, *arguments, **named)

    def change(self, change: Callable[Concatenate[Page, P], T], /, *arguments: P.args, **named: P.kwargs) -> T:
        """Like `write`, in this thread."""
        try:
            with self.engine.begin() as connection:
                page = Page(self, connection)
                result = change(page, *arguments, **named)
        except SQLAlchemyError as error:
            raise self._told(error) from None
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
            raise self._told(error) from None

    async def thread(self, function: Callable[P, T], /, *arguments: P.args, **named: P.kwargs) -> T:
        """Run a function in a thread of the book's."""
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._threads, lambda: function(*arguments, **named))
        finally:
            if not self._stays:
                self._use_no_more()
                self._unused = loop.call_later(_UNUSED, self._threads.submit, self.engine.dispose)

    def _use_no_more(self) -> None:
        if self._unused is not None:
            self._unused.cancel()

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
            raise self._told(error) from None

    def _told(self, error: SQLAlchemyError) -> NewelError:
        """What says that the database is away, or refuses a statement, without what the error quotes of the rows."""
        known = isinstance(error, OperationalError | InterfaceError | TimeoutError)
        if not known and not (isinstance(error, DBAPIError) and error.connection_invalidated):
            return StatementRefusedError(type(error.__cause__ or error).__name__)
        url, name = self.engine.url, type(error.__cause__ or error).__name__
        # A connection that was refused has no SQLSTATE.
        full = _FULL.search(str(error.__cause__)) is not None
        where = f"{url.database!r} at {url.host or 'the local socket'}{f':{url.port}' if url.port else ''}"
        if full:
            text = "has too many connections: try again, have fewer processes, or raise its max_connections"
            return EngineUnavailableError(f"the engine's database {where} {text}")
        return EngineUnavailableError(
            f"the engine's database {where} cannot be reached ({name}): is the server up, and are address, user and "
            f"password right?"
        )

    def close(self) -> None:
        """Let go of the connections."""
        self._use_no_more()
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
        """Run a statement; ``{runs}``, ``{workers}``, ``{queues}`` and DBOS's ``{workflows}`` are the tables."""
        tables = {name: f"{self.access.schema}.newel_{name}" for name in ("runs", "workers", "queues")}
        statement = statement.format(**tables, workflows=f"{self.access.schema}.workflow_status")
        found = self._connection.exec_driver_sql(statement, named)
        return found.all() if found.returns_rows else ()

    def lock(self, key: str) -> Any | None:
        """The row of a run, which nobody else changes before the end of the transaction; None: there is none.

        Its session is locked before it: all that begins, ends or comes in there takes its turn.
        """
        self.lock_session_of(key)
        rows = self.query("SELECT state, cancelled, started, spec FROM {runs} WHERE key = %(key)s FOR UPDATE", key=key)
        return rows[0] if rows else None

    def lock_session(self, session: str) -> None:
        """Have others wait who look whose turn it is in a session."""
        self.query("SELECT pg_advisory_xact_lock(hashtextextended(%(session)s, 0))", session=session)

    def lock_session_of(self, key: str) -> None:
        """Like `lock_session`, for the session of a run."""
        lock = "SELECT pg_advisory_xact_lock(hashtextextended(session, 0)) FROM {runs} "
        self.query(lock + "WHERE key = %(key)s AND session <> ''", key=key)

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

    def hand_out(
        self, where: str, also: str = "", *, key: str | None = None, stale: bool = False, **named: Any
    ) -> Sequence[Any]:
        """Put the runs `r` that `where` finds into the queue of DBOS, each as a new stretch; `also` sets more columns.

        With a `key` it is that run only, once others have done with its row. Without, at most MOST runs, and none whose
        row is in use: who calls looks again. The workflows of the stretches before are `stale` if nobody runs them.
        """
        if key is not None:
            self.lock(key)
            where, lock = f"key = %(key)s AND {where}", ""
        else:
            lock = f" ORDER BY number LIMIT {MOST} FOR UPDATE SKIP LOCKED"
        rows = self.query(
            "UPDATE {runs} SET state = 'queued', stretch = stretch + 1, waits = now(), due = NULL, line = false"
            + also
            + " WHERE key IN (SELECT key FROM {runs} AS r WHERE "
            + where
            + lock
            + ") RETURNING key, app_name, stretch, queue, session, tenant, priority, "
            "CASE WHEN priority IS NULL THEN spec END AS spec",
            key=key,
            **named,
        )
        found = [_shared_out(row) for row in rows]
        self.enqueue(found)
        if stale:
            self.stale += [workflow_id(row["key"], row["stretch"] - 1) for row in found]
        return rows

    def remove(self, workflows: list[str]) -> None:
        """Have DBOS forget workflows; that is not undone with the transaction."""
        self._client.delete_workflows(workflows)

    def remove_queues(self, names: Iterable[str]) -> None:
        """Have DBOS forget queues; that is not undone either, and who works one again registers it again."""
        for name in names:
            self._client.delete_queue(name)

    def next_in(self, session: str) -> None:
        """Hand out the run of a session whose turn it is now, if it waited for that."""
        if session:
            self.hand_out("session = %(session)s AND line AND state = 'queued' AND " + TURN, session=session)


def _shared_out(row: Any) -> dict[str, Any]:
    """A row that `enqueue` takes. Those of earlier versions have tenant and priority in their spec alone."""
    named = dict(row._mapping)
    if row.priority is None:
        spec = known_of(row)
        named.update(tenant=spec.tenant, priority=spec.priority)
    return named


def session_of(spec: InvocationSpec) -> str:
    """What the tables know the session of a run by."""
    return session_name(place_of(spec))


def session_name(place: Place) -> str:
    """What the tables know a session by: a name of any length has 64 characters."""
    names = [place["app_name"], place["user_id"], place["session_id"]]
    return sha256(json.dumps(names).encode()).hexdigest()


#: `workflow_id` of a run `r`, as SQL.
WORKFLOW_ID = "CASE WHEN r.stretch = 1 AND strpos(r.key, '#') = 0 THEN r.key ELSE r.key || '#' || r.stretch END"


def workflow_id(key: str, stretch: int) -> str:
    """The workflow that hands a run out: it has the run's key, and later ones count. No two runs share one."""
    return key if stretch == 1 and "#" not in key else f"{key}#{stretch}"
