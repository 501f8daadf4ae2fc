"""TemporalEngine: has Temporal dispatch runs, one workflow each, to workers on many machines."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from hashlib import blake2b
from typing import Any

from temporalio.api.enums.v1 import PendingWorkflowTaskState
from temporalio.client import Client, ScheduleActionStartWorkflow, WorkflowHandle
from temporalio.common import Priority, WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError

from newel.connections import PerLoop
from newel.engines import (
    BaseEngine,
    InvocationSpec,
    RunNotFoundError,
    RunRecord,
    RunState,
    Work,
    check_same,
    check_spec,
)
from newel.engines.places import Place, place_of
from newel_kernel import brief
from newel_temporal import order as known
from newel_temporal.address import Address
from newel_temporal.client import bounded, client_of, is_missing
from newel_temporal.index import has_index, indexed, lacks_index
from newel_temporal.listing import Listing
from newel_temporal.order import Left, Order
from newel_temporal.records import Known, is_running, recorded
from newel_temporal.worker import TemporalWorker

_Handle = WorkflowHandle[Any, Any]
#: How many submissions of a process are under way at once: more only wait in the server, and for longer than they may.
_AT_ONCE = 50
#: How many bytes a fairness key has at most.
_FAIRNESS_KEY = 64
#: The waits for a worker that decides about a cancelled run, in seconds: 1.5 in all.
_DECIDED_AFTER = (0.05, 0.15, 0.3, 0.5, 0.5)
_STARTED = PendingWorkflowTaskState.PENDING_WORKFLOW_TASK_STATE_STARTED


class TemporalEngine(BaseEngine):
    """Runs are workflows of Temporal, known by their specs' keys.

    A `client` of the caller's own, for certificates or interceptors, belongs to the event loop that it was made in.
    """

    def __init__(self, address: Address | None = None, *, client: Client | None = None) -> None:
        self.address = address or Address()
        self._given = client
        self._clients: PerLoop[_Connecting] = PerLoop(lambda: _Connecting(self.address))
        self._turns: PerLoop[asyncio.Semaphore] = PerLoop(lambda: asyncio.Semaphore(_AT_ONCE))
        self._index: PerLoop[_Index] = PerLoop(_Index)

    async def client(self) -> Client:
        """The client of Temporal's SDK for the running event loop."""
        return self._given or await self._clients.get().client()

    async def submit(self, spec: InvocationSpec) -> RunRecord:
        """See `BaseEngine`."""
        check_spec(spec)
        async with self._turns.get(), bounded(self.address):
            client = await self.client()
            try:
                handle = await self._start(client, spec, Left(state="queued"), WorkflowIDReusePolicy.REJECT_DUPLICATE)
            except WorkflowAlreadyStartedError:
                return await self._same(client, spec)
            description = await handle.describe()
        return await recorded(client, Known(description, spec, Left(state="queued")), {})

    async def signal(self, key: str, *, seconds: float = 0.0) -> None:
        """See `BaseEngine`."""
        async with bounded(self.address):
            handle = (await self.client()).get_workflow_handle(key)
            try:
                await (handle.signal(known.EXPECTED, seconds) if seconds > 0 else handle.signal(known.ANSWERED))
            except RPCError as error:
                await self._must_exist(handle, error)

    async def cancel(self, key: str) -> None:
        """See `BaseEngine`. A run that no worker decides about, since none is there, ends without one."""
        async with bounded(self.address):
            handle = (await self.client()).get_workflow_handle(key)
            try:
                await handle.cancel()
                if not await _is_decided(handle):
                    await handle.terminate(reason="cancelled")
            except RPCError as error:
                await self._must_exist(handle, error)

    async def retry(self, key: str) -> None:
        """See `BaseEngine`. A run that came to its own end, or that has not ended, does not change."""
        async with bounded(self.address):
            client = await self.client()
            record = await self._record(client, key)
            if record is None:
                raise _not_found(key)
            if record.ended is None or record.state == RunState.ENDED:
                return
            left = Left(state="queued", attempts=record.attempts, worker=record.worker, started=record.started)
            spec = record.spec.model_copy(update={"attempt": record.spec.attempt + 1})
            try:
                await self._start(client, spec, left, WorkflowIDReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY)
            except WorkflowAlreadyStartedError:  # somebody else has just done so
                return

    async def record(self, key: str) -> RunRecord | None:
        """See `BaseEngine`."""
        async with bounded(self.address):
            return await self._record(await self.client(), key)

    async def records(
        self,
        *,
        app_name: str | None = None,
        state: RunState | None = None,
        session: Place | None = None,
        most: int = 100,
    ) -> Sequence[RunRecord]:
        """See `BaseEngine`. Their specs lack the words of people and agents, which `record` has."""
        async with bounded(self.address):
            client = await self.client()
            listing = Listing(client, app_name, state, session, most, has_index=await self._index.get().known(client))
            return await listing.records()

    def worker(self, work: Work, queues: Sequence[str], *, concurrency: int = 10, name: str = "") -> TemporalWorker:
        """See `BaseEngine`."""
        return TemporalWorker(self._connection, self.address, work, queues, concurrency=concurrency, name=name)

    def action(self, spec: InvocationSpec) -> ScheduleActionStartWorkflow:
        """What a schedule of Temporal's does to start runs by `spec`, each with an invocation id of its own."""
        return ScheduleActionStartWorkflow(
            known.WORKFLOW,
            self._order(spec, Left(state="queued")),
            id=spec.key,
            task_queue=known.DECISIONS,
            memo=_memo(spec),
            priority=_priority(spec),
            **self._limits(spec),
        )

    async def close(self) -> None:
        """Let go of the connection."""
        await self._clients.close()
        self._given = None

    async def _connection(self) -> Client:
        """A connection for a worker: the SDK allows no two workers of one queue on the same."""
        return self._given or await client_of(self.address)

    # --- workflows ----------------------------------------------------------------------------------------------------

    async def _start(self, client: Client, spec: InvocationSpec, left: Left, reuse: WorkflowIDReusePolicy) -> _Handle:
        start = partial(
            client.start_workflow,
            known.WORKFLOW,
            self._order(spec, left),
            id=spec.key,
            task_queue=known.DECISIONS,
            id_reuse_policy=reuse,
            id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
            memo=_memo(spec),
            priority=_priority(spec),
            **self._limits(spec),
        )
        if not await self._index.get().known(client):
            return await start()
        try:
            return await start(search_attributes=indexed(place_of(spec)))
        except RPCError as error:
            if not lacks_index(error):
                raise
            return await start()

    def _order(self, spec: InvocationSpec, left: Left) -> Order:
        address = self.address
        return Order(
            spec=spec.model_dump(mode="json", exclude_defaults=True),
            queue=spec.queue,
            lease=address.lease,
            misfit=address.misfit,
            attempts=address.attempts,
            steps=address.steps,
            left=left,
        )

    def _limits(self, spec: InvocationSpec) -> dict[str, Any]:
        """How long a workflow and each decision of it may take."""
        task = timedelta(seconds=min(10.0, max(2.0, self.address.lease)))
        if spec.seconds is None:
            return {"task_timeout": task}
        return {"task_timeout": task, "execution_timeout": timedelta(seconds=spec.seconds) + known.AFTER_DEADLINE}

    async def _same(self, client: Client, spec: InvocationSpec) -> RunRecord:
        """The record of a run that was submitted before, if it was the same."""
        record = await self._record(client, spec.key)
        if record is None:
            raise _not_found(spec.key)
        check_same(record.spec, spec)
        return record

    async def _record(self, client: Client, key: str) -> RunRecord | None:
        handle = client.get_workflow_handle(key)
        try:
            description, spec = await asyncio.gather(handle.describe(), _spec_of(client, handle))
        except RPCError as error:
            if is_missing(error):
                return None
            raise
        memo = await description.memo()
        return await recorded(client, Known.of(description, memo, spec), {})

    async def _must_exist(self, handle: _Handle, error: RPCError) -> None:
        """Raise RunNotFoundError unless there is such a run, which has ended; any other error is raised unchanged."""
        if not is_missing(error):
            raise error
        try:
            await handle.describe()
        except RPCError as missing:
            if is_missing(missing):
                raise _not_found(handle.id) from None
            raise


class _Index:
    """Whether the namespace has an index by session, once that is known."""

    def __init__(self) -> None:
        self._known: bool | None = None

    async def known(self, client: Client) -> bool:
        if self._known is None:
            self._known = await has_index(client)
        return self._known


class _Connecting:
    """The client of an event loop."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._client: Client | None = None
        self._lock = asyncio.Lock()

    async def client(self) -> Client:
        async with self._lock:
            if self._client is None:
                self._client = await client_of(self._address)
        return self._client


async def _spec_of(client: Client, handle: _Handle) -> Mapping[str, Any]:
    """The spec as it was submitted: what a workflow's history begins with."""
    async for event in handle.fetch_history_events(page_size=1):
        payloads = event.workflow_execution_started_event_attributes.input.payloads
        (order,) = await client.data_converter.decode(payloads, [Order])
        return order.spec  # type: ignore[no-any-return]
    raise _not_found(handle.id)


async def _is_decided(handle: _Handle) -> bool:
    """Whether a worker decides soon what the cancellation of a run means, or has the run."""
    for seconds in _DECIDED_AFTER:
        await asyncio.sleep(seconds)
        description = (await handle.describe()).raw_description
        task = description.pending_workflow_task
        if not description.HasField("pending_workflow_task") or task.state == _STARTED:
            return True
        if any(is_running(one) for one in description.pending_activities):
            return True
    return False


def _memo(spec: InvocationSpec) -> dict[str, Any]:
    names = InvocationSpec.model_fields.keys() - {*known.WORDS}  # what it does not know may be words, too
    return {known.SPEC_MEMO: spec.model_dump(mode="json", include=names, exclude_defaults=True)}


def _priority(spec: InvocationSpec) -> Priority:
    key = spec.tenant
    if len(key.encode()) > _FAIRNESS_KEY:
        key = blake2b(key.encode(), digest_size=_FAIRNESS_KEY // 2).hexdigest()
    return Priority(priority_key=spec.priority, fairness_key=key or None)


def _not_found(key: str) -> RunNotFoundError:
    return RunNotFoundError(f"Temporal has no run {brief(key)!r}")
