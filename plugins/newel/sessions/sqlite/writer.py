"""SqliteWriter: the one thread that commits, many writes in one transaction (group commit)."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from newel.connections.forks import watch_forks
from newel.sessions.errors import StoreUnavailableError
from newel.sessions.sqlite.database import STATEMENTS, SqliteDatabase, run
from newel.sessions.sqlite.place import LogLostError
from newel.sessions.stored import clockwork
from newel.sessions.stored.outcome import Outcome, settled
from newel.sessions.stored.patience import patience_ends
from newel.sessions.stored.steps import Batch, Write
from newel_kernel import SessionError

T = TypeVar("T")
_MOST_PER_COMMIT = 500
#: How long the thread waits for a write to commit together with those that were sent, in seconds.
_MOMENT = 0.02
#: How often it looks, while another process is writing, which callers still wait, in seconds.
_RETRY = 0.25


#: In the queue: look at the writes that were sent.
_WAKE: Any = object()


class SqliteWriter:
    """Commits writes in their order. The thread starts with the first one and ends in `end_thread`.

    Committing in the event loop would save two thread switches, but stop everything else for as long as the disk,
    or another process's write, takes.
    """

    def __init__(self, database: SqliteDatabase) -> None:
        self.database = database
        self._queue: SimpleQueue[Outcome | None] = clockwork.Queue()
        self._gate = clockwork.RLock()
        self._thread: threading.Thread | None = None
        #: The connection that waits for other writers for `_RETRY` only.
        self._hurried: sqlite3.Connection | None = None
        self._closing = False
        #: Whether the process is about to fork: what cannot be committed at once is kept for after it.
        self._is_resting = False
        self._kept: list[Outcome] = []
        #: The writes that were sent, and whether the thread is in a long wait and must be woken for them.
        self._background: deque[Write[object]] = deque()
        self._is_idle = False
        watch_forks(self)

    def commit(self, write: Write[T], then: Callable[[T], object] | None = None) -> Coroutine[Any, Any, T]:
        """The result of `write`, once it is durable; `then` is called with it, even if the caller is cancelled.

        A write under way cannot be taken back, so a cancellation waits for its end: a cancelled caller finds the
        session either without the event or with it.
        """
        return settled(self._submit(write), then)

    def send(self, write: Write[object]) -> None:
        """Commit `write` with the next one, or a moment later at the latest; a failure is not reported."""
        with self._gate:
            if not self._closing:
                self._background.append(write)
                self._start()
                if self._is_idle:
                    self._queue.put(_WAKE)

    def _start(self) -> None:
        if self._thread is None:
            # A daemon, because the interpreter waits for other threads before any exit handler could end them.
            self._thread = clockwork.Thread(target=self._run, name="newel-sessions", daemon=True)
            self._thread.start()

    def _submit(self, write: Write[object]) -> Outcome:
        outcome = Outcome(loop=asyncio.get_running_loop())
        outcome.write, outcome.until = write, patience_ends(self.database.patience)
        with self._gate:
            if self._closing:
                raise SessionError(f"the session store {self.database.path!r} is closed")
            if self._thread is None:
                self._start()
            self._queue.put(outcome)
        return outcome

    def end_thread(self) -> None:
        """Commit what is waiting and end the thread; the next write starts another."""
        with self._gate:
            thread, self._thread = self._thread, None
            if thread is not None:
                self._queue.put(None)
                if thread is not clockwork.current_thread():
                    thread.join()

    def close(self) -> None:
        """Commit what is waiting and close the database."""
        with self._gate:
            self._closing = True
            own = self._thread is clockwork.current_thread()
            self.end_thread()
        if not own:  # else (the collector ran here) the thread closes it when it ends
            self.database.close()

    def _run(self) -> None:
        ends = False
        if kept := self._kept:
            self._kept = []
            self._commit(kept)
        while not ends:
            items, ends = self._next_batch()
            if items or (ends and self._background):
                self._commit(items)
        if self._closing:
            self.database.close()

    def _next_batch(self) -> tuple[list[Outcome], bool]:
        """The writes that wait (it waits for at least one), and whether the thread is to end after them."""
        items: list[Outcome] = []
        item = self._next()
        while item is not None:
            if item is not _WAKE:
                items.append(item)
            if len(items) == _MOST_PER_COMMIT:
                return items, False
            if self._queue.empty():
                return items, False
            item = self._queue.get_nowait()  # only this thread takes items
        return items, True

    def _next(self) -> Outcome | None:
        """The next item of the queue. Before a long wait, the thread commits the writes that were sent.

        It waits a moment first: the end of a run sends one, and need not wake a thread that has just committed.
        """
        with suppress(Empty):
            return self._queue.get(timeout=_MOMENT)
        while True:
            self._is_idle = True
            if self._background:
                self._commit([])
            try:
                return self._queue.get(timeout=_RETRY if self._background else None)
            except Empty:
                continue
            finally:
                self._is_idle = False

    def _commit(self, items: list[Outcome]) -> None:
        """Commit the writes; each caller gets the result of its write, or the error."""
        if self._is_resting and self._kept:  # those before them could not be committed
            self._kept += items
            return
        waiting = items
        try:
            while not self._transact(waiting):  # another process is writing
                waiting = self._patient(waiting)
                if self._is_resting:
                    self._kept += waiting
                    return
                if not waiting:
                    return
        except BaseException as error:  # noqa: BLE001 - it goes to the caller that waits for the write
            if len(waiting) > 1:  # one of them spoils it for all: try each alone
                for item in waiting:
                    self._commit([item])
                return
            for item in waiting:
                item.error = error
        _deliver(waiting)

    def _patient(self, items: list[Outcome]) -> list[Outcome]:
        """The writes that still wait; the others were withdrawn, or have waited long enough and get an error."""
        now = clockwork.elapsed()
        late = [item for item in items if now >= item.until]
        for item in late:
            item.error = self.database.busy(self.database.patience)
        _deliver(late)
        return [item for item in items if now < item.until and not item.withdrawn]

    def _transact(self, items: list[Outcome]) -> bool:
        """Commit the writes in one transaction; False if another process is writing. Leaves out withdrawn ones."""
        try:
            with self.database.writing(_RETRY) as connection, self.database.explained("written"):
                if connection is not self._hurried:
                    connection.execute(f"PRAGMA busy_timeout = {_RETRY * 1000:.0f}")
                    self._hurried = connection
                try:
                    self._transact_within(connection, items)
                except LogLostError:
                    self.database.rescue_log(connection)
                    self._transact_within(connection, items)
        except StoreUnavailableError:
            return False
        return True

    def _transact_within(self, connection: sqlite3.Connection, items: list[Outcome]) -> None:
        batch = Batch()
        connection.execute("BEGIN IMMEDIATE")
        items[:] = filter(Outcome.begin, items)
        sent = list(self._background)
        try:
            for write in sent:
                _outcome(connection, write, batch)
            for item in items:
                item.value, item.error = _outcome(connection, item.write, batch)
            self.database.check_files()
            connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise
        finally:
            for _ in sent:
                self._background.popleft()
        try:
            self.database.check_files()  # they may have gone between the first check and the commit
        except LogLostError:
            self.database.rescue_log(connection)  # with the commit
        batch.grow()

    def before_fork(self) -> None:
        """Neither the thread nor the connections may be in use during a fork, which waits for one attempt to commit."""
        self._gate.acquire()
        self._is_resting = True
        self.end_thread()
        self.database.before_fork()

    def after_fork_in_parent(self) -> None:
        """Continue in the parent process, which the fork does not change."""
        self.database.after_fork_in_parent()
        self._is_resting = False
        if self._kept or self._background:
            self._start()
        self._gate.release()

    def after_fork_in_child(self) -> None:
        """Continue, with the child's own locks. The parent commits what it had to write."""
        self.database.after_fork_in_child()
        self._gate = clockwork.RLock()
        self._is_resting = False
        kept, self._kept = self._kept, []
        for item in kept:
            item.error = SessionError("the process has forked: its parent commits this write")
        _deliver(kept)
        self._background.clear()


def _outcome(connection: sqlite3.Connection, write: Write[object], batch: Batch) -> tuple[object, BaseException | None]:
    try:
        return run(connection, write.steps(STATEMENTS, batch)), None
    except SessionError as error:
        return None, error


def _deliver(items: Sequence[Outcome]) -> None:
    """Settle the futures, with one call into each event loop."""
    loops: dict[asyncio.AbstractEventLoop, list[Outcome]] = {}
    for item in items:
        loops.setdefault(item.get_loop(), []).append(item)
    for loop, ended in loops.items():
        with suppress(RuntimeError):  # the loop is closed: nothing waits any more
            loop.call_soon_threadsafe(_settle, ended)


def _settle(items: Sequence[Outcome]) -> None:
    for item in items:
        if item.done():
            continue
        if item.error is not None:
            item.set_exception(item.error)
        else:
            item.set_result(item.value)
