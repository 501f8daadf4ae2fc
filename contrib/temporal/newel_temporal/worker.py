"""TemporalWorker: takes runs from Temporal's queues, in this process."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta

from temporalio.client import Client
from temporalio.worker import PollerBehaviorSimpleMaximum, UnsandboxedWorkflowRunner, Worker

from newel.engines import EngineWorker, Work
from newel_kernel import NewelError, seam
from newel_temporal import order as known
from newel_temporal.activities import Runs
from newel_temporal.address import Address
from newel_temporal.client import answered
from newel_temporal.listeners import Listeners
from newel_temporal.workflow import Run

#: Temporal's own limit for the end of activities: ours is said when the worker drains.
_ENDLESS = timedelta(days=365)
#: How long a released run may take to say so.
_RELEASED_SECONDS = 5.0
#: How soon another worker decides what is next in a run, if the one that had it in memory is gone.
_STICKY = timedelta(seconds=2)
_DECISIONS = 20
_CLOSINGS = 4


class TemporalWorker(EngineWorker):
    """A worker for `queues`, of `Worker`s of Temporal's SDK that share a connection."""

    def __init__(
        self,
        connected: Callable[[], Awaitable[Client]],
        address: Address,
        work: Work,
        queues: Sequence[str],
        *,
        concurrency: int,
        name: str = "",
    ) -> None:
        self._connected = connected
        self._address = address
        self._queues = list(dict.fromkeys(queues))
        self._concurrency = concurrency
        self.name = name or f"{os.getpid()}@{socket.gethostname()}"
        self._runs = Runs(work, self.name, beat=address.beat, concurrency=concurrency)
        self._workers: list[Worker] = []
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def running(self) -> Sequence[str]:
        """The keys of the runs that it has now."""
        return list(self._runs.tasks)

    async def start(self) -> None:
        """Begin to take runs; an error if Temporal does not answer."""
        client = await answered(self._address, self._connected())
        await answered(self._address, client.service_client.check_health())
        self._workers = [self._decider(client), *(one for queue in self._queues for one in self._takers(client, queue))]
        self._tasks = [seam.spawn(worker.run(), name=f"temporal {worker.task_queue}") for worker in self._workers]
        while not all(worker.is_running for worker in self._workers):
            if ended := [task for task in self._tasks if task.done()]:
                await self.drain(0)
                error = ended[0].exception()
                raise NewelError(f"Temporal's worker did not start: {error}") from error
            await asyncio.sleep(0.01)

    async def drain(self, seconds: float) -> None:
        """Take no more; wait at most `seconds` for those under way, then release them for other workers."""
        stopping = [seam.spawn(worker.shutdown()) for worker in self._workers if worker.is_running]
        await self._idle(seconds)
        self._runs.release()
        await self._idle(_RELEASED_SECONDS)
        pending = [*stopping, *self._tasks]
        if pending:
            await asyncio.wait(pending, timeout=_RELEASED_SECONDS)
        for task in pending:  # a run that does not let go: its heartbeats end with this worker
            task.cancel()
        self._workers, self._tasks = [], []

    async def _idle(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._runs.idle.wait()
        except TimeoutError:
            pass

    def _decider(self, client: Client) -> Worker:
        """Runs the code of workflows, whichever apps they belong to."""
        return Worker(
            client,
            task_queue=known.DECISIONS,
            workflows=[Run],
            activities=[Listeners(client).listened],
            identity=self.name,
            max_concurrent_activities=_CLOSINGS,
            max_concurrent_workflow_tasks=_DECISIONS,
            activity_task_poller_behavior=PollerBehaviorSimpleMaximum(1),
            sticky_queue_schedule_to_start_timeout=_STICKY,
            workflow_runner=UnsandboxedWorkflowRunner(),
            graceful_shutdown_timeout=timedelta(seconds=1),
        )

    def _takers(self, client: Client, queue: str) -> list[Worker]:
        """Those that take the runs of a queue, and close those that no worker has."""
        return [
            Worker(
                client,
                task_queue=queue,
                activities=[self._runs.run],
                identity=self.name,
                max_concurrent_activities=self._concurrency,
                activity_task_poller_behavior=PollerBehaviorSimpleMaximum(min(self._concurrency, 5)),
                max_heartbeat_throttle_interval=timedelta(seconds=self._address.beat),
                max_task_queue_activities_per_second=self._address.per_second or None,
                graceful_shutdown_timeout=_ENDLESS,
            ),
            Worker(
                client,
                task_queue=known.closing_queue(queue),
                activities=[self._runs.close],
                identity=self.name,
                max_concurrent_activities=_CLOSINGS,
                activity_task_poller_behavior=PollerBehaviorSimpleMaximum(1),
                graceful_shutdown_timeout=timedelta(seconds=5),
            ),
        ]
