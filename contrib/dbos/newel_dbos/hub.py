"""Hub: the one DBOS of this process, which hands runs to the workers that are here."""

from __future__ import annotations

import asyncio
import math
import os
import socket
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar, Concatenate, ParamSpec, TypeVar

from dbos import DBOS, WorkflowSerializationFormat, _workflow_commands, error

from newel.engines import EngineUnavailableError
from newel_dbos import shifts
from newel_dbos.access import Access
from newel_dbos.book import APPLICATION, VERSION, WORKFLOW, Book, Page
from newel_dbos.watch import Watch
from newel_kernel import ConfigurationError, NewelError, seam

if TYPE_CHECKING:
    from newel_dbos.worker import DbosWorker

T = TypeVar("T")
P = ParamSpec("P")

#: Seconds that a run which DBOS has handed out waits for room, before other processes get it.
_PATIENCE = 2.0
#: Seconds between two attempts to reach a database that is away.
_AGAIN = 0.5
#: Seconds between two looks of DBOS's into its own queue, and for workflows that are delayed or late: none are here.
#: The latter holds a transaction, which the server ends after 5 s.
_SELDOM, _LATE = 60.0, 4.0


class RunLeftError(NewelError):
    """A run could not be begun, or its end not be written: the text is the class of the error."""


class Hub:
    """Runs DBOS while this process has workers. DBOS has its own threads; runs are tasks of the workers' loop."""

    current: ClassVar[Hub | None] = None

    def __init__(self, access: Access) -> None:
        self.access = access
        self.loop = asyncio.get_running_loop()
        #: What DBOS and the table of workers call this process.
        self.executor = f"{socket.gethostname()}:{os.getpid()}:{seam.random_uuid()[:8]}"
        self.book = Book(access, connections=2, tries_again=True)
        self.workers: list[DbosWorker] = []
        #: The runs that DBOS has handed to this process, until they leave it.
        self.taken: set[tuple[str, int]] = set()
        self._ending: set[asyncio.Task[None]] = set()
        self._watch = Watch(self)
        self._queues: set[str] = set()
        self._room = asyncio.Condition()
        self._changes = asyncio.Lock()
        self._leaving = False

    @classmethod
    async def join(cls, access: Access, worker: DbosWorker) -> Hub:
        """The hub of this process, which hands runs to `worker` from now on."""
        # No event: that hub may be another loop's.
        while (hub := cls.current) is not None and hub._leaving and not hub.loop.is_closed():  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        if hub is not None and hub.loop.is_closed():
            await asyncio.to_thread(hub._end)
            hub = None
        if hub is None:
            hub = cls.current = cls(access)
        elif hub.access != access or hub.loop is not asyncio.get_running_loop():
            raise ConfigurationError(
                "DBOS runs once in a process: all its workers must be of one database and one event loop"
            )
        await hub._admit(worker)
        return hub

    async def _admit(self, worker: DbosWorker) -> None:
        async with self._changes:
            self.workers.append(worker)
            try:
                await self.book.ready()
                await self.book.thread(self._listen, {queue for one in self.workers for queue in one.queues})
            except BaseException:
                self.workers.remove(worker)
                if not self.workers:
                    self._leaving = True
                    await asyncio.shield(asyncio.to_thread(self._end))
                raise
        async with self._room:
            self._room.notify_all()

    def _listen(self, queues: set[str]) -> None:
        """Start DBOS for these queues, again if it listens to fewer of them."""
        self._watch.beat()
        if not queues <= self._queues:
            if self._queues:
                DBOS.destroy()
            self._queues = queues
            self._launch(sorted(queues))
            self._watch.start()
        room = Counter(dict.fromkeys(queues, 0))
        for worker in self.workers:
            room.update(dict.fromkeys(worker.queues, worker.concurrency))
        for queue in queues:
            # By partitions, so that a tenant with many runs in the queue does not stand before all others.
            DBOS.register_queue(
                queue,
                worker_concurrency=room[queue],
                partition_worker_concurrency=room[queue],
                polling_interval_sec=self.access.poll,
                on_conflict="always_update",
            )

    def _launch(self, queues: list[str]) -> None:
        dbos = DBOS(
            config={
                "name": APPLICATION,
                "application_version": VERSION,
                "executor_id": self.executor,
                "system_database_engine": self.book.engine,
                "dbos_system_schema": self.access.schema,
                "run_migrations": False,
                # Nothing here sends messages from one workflow to another, which is what it would listen for.
                "use_listen_notify": False,
                "scheduler_polling_interval_sec": 3600.0,
                "enable_otlp": False,
                "log_level": "ERROR",
            }
        )
        try:
            DBOS.listen_queues(queues)
        except error.DBOSException as problem:
            raise ConfigurationError(f"this process runs DBOS for something else already: {problem}") from problem
        _hush(dbos)
        DBOS.launch()

    async def leaving(self, worker: DbosWorker, seconds: float) -> Callable[[], Awaitable[None]]:
        """Hand nothing to `worker` any more; what is returned waits until it is gone."""
        async with self._changes:
            self.workers.remove(worker)
            if self.workers:
                return self._left
            self._leaving = True
        active = bool(self.taken)
        # DBOS takes no more runs from queues, and waits for those that it has handed out.
        halting = asyncio.ensure_future(self.book.thread(self._halt, math.ceil(seconds) if active else 0))

        async def left() -> None:
            await halting
            await asyncio.to_thread(self._close)

        return left

    async def _left(self) -> None:
        """Nothing is to be done for a worker that is not the last."""

    def _halt(self, seconds: int) -> None:
        if self._queues:
            DBOS.destroy(workflow_completion_timeout_sec=seconds)

    def _end(self) -> None:
        self._halt(0)
        self._close()

    def _close(self) -> None:
        self._watch.stop()
        self.book.close()
        if Hub.current is self:
            Hub.current = None

    async def take(self, key: str, stretch: int, queue: str) -> None:
        """Run what DBOS has handed out."""
        if (key, stretch) in self.taken:
            return  # DBOS was started again meanwhile
        self.taken.add((key, stretch))
        worker: DbosWorker | None = None
        try:
            worker = await self._found(queue)
            if worker is None:
                await self.write(shifts.give_back, key, stretch)
            else:
                await worker.run(self, key, stretch)
        except Exception as error:  # noqa: BLE001 - DBOS keeps what is raised here
            self._watch.in_doubt = True  # it may be this process's without a worker that has it
            raise RunLeftError(type(error).__name__) from None
        finally:
            self.taken.discard((key, stretch))
            if worker is not None:
                async with self._room:
                    worker.busy -= 1
                    self._room.notify_all()

    async def _found(self, queue: str) -> DbosWorker | None:
        """A worker with room, which counts as taken; None: there is none in time."""

        def free() -> DbosWorker | None:
            workers = (one for one in self.workers if one.open and queue in one.queues)
            return next((one for one in workers if one.busy < one.concurrency), None)

        try:
            async with asyncio.timeout(_PATIENCE), self._room:
                while (worker := free()) is None:
                    await self._room.wait()
        except TimeoutError:
            return None
        worker.busy += 1
        return worker

    def end(self, shift: shifts.Shift) -> None:
        """End a run that nobody has; it takes no room from others."""
        worker = next((one for one in self.workers if shift.spec.queue in one.queues), None)
        if worker is None:
            return  # whoever finds that this process has gone does it
        task = seam.start_task(worker.end(self, shift), name=f"end {shift.spec.key}")
        self._ending.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._ending.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._watch.in_doubt = True

    async def write(self, change: Callable[Concatenate[Page, P], T], /, *arguments: P.args, **named: P.kwargs) -> T:
        """Write, again and again while the database is away, until others will have taken this process for dead."""
        while True:
            try:
                return await self.book.write(change, *arguments, **named)
            except EngineUnavailableError:
                if self._watch.cut_off:
                    self._watch.in_doubt = True
                    raise
                await asyncio.sleep(_AGAIN)


def _hush(dbos: DBOS) -> None:
    """Have DBOS look less often for what is not here: each look costs 2 ms, once a second.

    It has no settings for that, so these names are its own. A version without them only costs what DBOS costs.
    """
    with suppress(AttributeError):
        dbos._registry.get_internal_queue()._polling_interval_sec = _SELDOM
    if hasattr(_workflow_commands, "_BACKGROUND_JOBS_INTERVAL_SEC"):
        _workflow_commands._BACKGROUND_JOBS_INTERVAL_SEC = _LATE


@DBOS.workflow(name=WORKFLOW, max_recovery_attempts=None, serialization_type=WorkflowSerializationFormat.PORTABLE)
async def _run(key: str, stretch: int, queue: str) -> None:
    """Hand a run to the workers' loop; DBOS counts it as running until they have done with it."""
    hub = Hub.current
    if hub is not None and not hub.loop.is_closed():
        run = asyncio.run_coroutine_threadsafe(hub.take(key, stretch, queue), hub.loop)
        # DBOS ends its workflows when it stops, and the runs go on.
        await asyncio.shield(asyncio.wrap_future(run))
