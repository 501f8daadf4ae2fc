"""TemporalWorker: takes runs from Temporal's queues, in this process."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

from temporalio.client import Client, WorkflowHandle
from temporalio.service import RPCError
from temporalio.worker import PollerBehaviorSimpleMaximum, UnsandboxedWorkflowRunner, Worker

from newel.engines import EngineWorker, Work
from newel_kernel import NewelError, seam
from newel_temporal import order as known
from newel_temporal.activities import Runs
from newel_temporal.address import Address
from newel_temporal.client import answered
from newel_temporal.listeners import Listeners
from newel_temporal.records import is_running, is_step
from newel_temporal.slots import RunSlots
from newel_temporal.workflow import Run

#: Temporal's own limit for the end of activities: ours is said when the worker drains.
_ENDLESS = timedelta(days=365)
#: How long a released run may take to say so.
_RELEASED_SECONDS = 5.0
#: How soon another worker decides what is next in a run, if the one that had it in memory is gone.
_STICKY = timedelta(seconds=2)
#: How long a worker that drains decides about its last runs, and how often it looks.
_DECIDED_SECONDS = 2.0
_POLL_SECONDS = 0.02
_DECISIONS = 20
#: A stopped process goes on asking for a task with each of its polls, and keeps what it gets until the lease is over.
_ONE_POLL = PollerBehaviorSimpleMaximum(1)
#: One for the runs that it has in memory, and one for others.
_TWO_POLLS = PollerBehaviorSimpleMaximum(2)
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
        self._own_queue = f"newel/worker/{seam.new_id()}"
        self._runs = Runs(work, self.name, beat=address.beat, concurrency=concurrency, queue=self._own_queue)
        self._workers: list[Worker] = []
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def running(self) -> Sequence[str]:
        """The keys of the runs that it has now."""
        return self._runs.running

    async def start(self) -> None:
        """Begin to take runs; an error if Temporal does not answer."""
        client = await answered(self._address, self._connected())
        await answered(self._address, client.service_client.check_health())
        takers = [one for queue in self._queues for one in self._takers(client, queue)]
        self._workers = [self._decider(client), self._stepper(client), *takers]
        self._tasks = [seam.spawn(worker.run(), name=f"temporal {worker.task_queue}") for worker in self._workers]
        while not all(worker.is_running for worker in self._workers):
            if ended := [task for task in self._tasks if task.done()]:
                await self.drain(0)
                error = ended[0].exception()
                raise NewelError(f"Temporal's worker did not start: {error}") from error
            await asyncio.sleep(0.01)

    async def drain(self, seconds: float) -> None:
        """Take no more; wait at most `seconds` for those under way, then release them for other workers."""
        self._runs.serve_no_more()
        keys = self.running
        takers = self._shutting_down(self._workers[2:], self._tasks[2:])
        await self._idle(seconds)
        self._runs.release()
        await self._idle(_RELEASED_SECONDS)
        await _ended(takers)
        if keys and self._workers:  # another worker would do so, too, but there may be none
            await self._decided(self._workers[0].client, keys)
        await _ended(self._shutting_down(self._workers[:2], self._tasks[:2]))
        self._workers, self._tasks = [], []

    @staticmethod
    def _shutting_down(workers: Sequence[Worker], tasks: Sequence[asyncio.Task[None]]) -> list[asyncio.Task[None]]:
        return [*tasks, *(seam.spawn(worker.shutdown()) for worker in workers if worker.is_running)]

    async def _decided(self, client: Client, keys: Sequence[str]) -> None:
        """Wait until it is decided what is next in the runs that have just ended here."""
        with suppress(TimeoutError, RPCError):
            async with asyncio.timeout(_DECIDED_SECONDS):
                for key in keys:
                    handle = client.get_workflow_handle(key)
                    while await self._is_pending(handle):  # noqa: ASYNC110 - another process may decide it
                        await asyncio.sleep(_POLL_SECONDS)

    async def _is_pending(self, handle: WorkflowHandle[Any, Any]) -> bool:
        """Whether it is to be decided what is next, or a step was not taken yet, or its end here is not known yet."""
        description = (await handle.describe()).raw_description
        return description.HasField("pending_workflow_task") or any(
            one.last_worker_identity == self.name if is_running(one) else is_step(one)
            for one in description.pending_activities
        )

    async def _idle(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._runs.idle.wait()

    def _decider(self, client: Client) -> Worker:
        """Runs the code of workflows, whichever apps they belong to, and the runs that need not go through a queue."""
        return Worker(
            client,
            task_queue=known.DECISIONS,
            workflows=[Run],
            activities=[Listeners(client).listened, self._runs.room, self._runs.run, self._runs.begin],
            identity=self.name,
            max_concurrent_activities=self._concurrency + _CLOSINGS,
            max_concurrent_workflow_tasks=_DECISIONS,
            activity_task_poller_behavior=_ONE_POLL,
            workflow_task_poller_behavior=_TWO_POLLS,
            sticky_queue_schedule_to_start_timeout=_STICKY,
            max_heartbeat_throttle_interval=timedelta(seconds=self._address.beat),
            workflow_runner=UnsandboxedWorkflowRunner(),
            graceful_shutdown_timeout=timedelta(seconds=1),
        )

    def _stepper(self, client: Client) -> Worker:
        """Takes the steps of the runs that are here."""
        return Worker(
            client,
            task_queue=self._own_queue,
            activities=[self._runs.model, self._runs.tool, self._runs.close],
            identity=self.name,
            max_concurrent_activities=self._concurrency + _CLOSINGS,
            activity_task_poller_behavior=_ONE_POLL,
            max_heartbeat_throttle_interval=timedelta(seconds=self._address.beat),
            graceful_shutdown_timeout=_ENDLESS,
        )

    def _takers(self, client: Client, queue: str) -> list[Worker]:
        """Those that take the runs of a queue, and close those that no worker has."""
        slots = RunSlots(self._runs, self._concurrency)
        if not self._address.per_second:  # Temporal counts those that go through the queue
            self._runs.serve(queue, lambda: slots.has_room)
        return [
            Worker(
                client,
                task_queue=queue,
                activities=[self._runs.run, self._runs.begin],
                identity=self.name,
                tuner=slots.tuner(),
                activity_task_poller_behavior=_ONE_POLL,
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
                activity_task_poller_behavior=_ONE_POLL,
                graceful_shutdown_timeout=timedelta(seconds=5),
            ),
        ]


async def _ended(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Wait until they have ended, but not for a run that does not let go: its heartbeats end with this worker."""
    if tasks:
        await asyncio.wait(tasks, timeout=_RELEASED_SECONDS)
    for task in tasks:
        task.cancel()
