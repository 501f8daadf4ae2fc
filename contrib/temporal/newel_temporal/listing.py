"""Listing: the newest runs of an app and a state."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from temporalio.client import Client, WorkflowExecution

from newel.engines import RunRecord, RunState
from newel.engines.places import Place, place_of
from newel_temporal import order as known
from newel_temporal.index import may_be_of
from newel_temporal.records import Known, recorded

#: How many runs are described at a time.
_AT_ONCE = 16
#: What the name of an app may not have in a query for workflows; such a name is looked for here.
_UNQUOTABLE = frozenset("'\"\\`%_")
_OPEN = "ExecutionStatus = 'Running'"
#: The workflows that may be in a state.
_MAY_BE = {
    RunState.QUEUED: _OPEN,
    RunState.RUNNING: _OPEN,
    RunState.PAUSED: _OPEN,
    RunState.ENDED: "ExecutionStatus = 'Completed'",
}


class Listing:
    """A question for the newest `most` runs."""

    def __init__(
        self,
        client: Client,
        app_name: str | None,
        state: RunState | None,
        session: Place | None,
        most: int,
        *,
        has_index: bool,
    ) -> None:
        self._client = client
        self._session = session
        self._app_name = app_name
        self._state = state
        self._most = most
        self._has_index = has_index
        self._found: list[RunRecord] = []
        self._seen: set[str] = set()
        self._listened: dict[str, bool] = {}

    async def records(self) -> Sequence[RunRecord]:
        """The runs, the newest first."""
        batch: list[WorkflowExecution] = []
        pages = self._client.list_workflows(self._query(), page_size=min(2 * self._most, 1000))
        async for execution in pages:
            if self._is_past(execution):
                break
            if execution.id in self._seen:  # an attempt that ended before this run was tried again
                continue
            self._seen.add(execution.id)
            batch.append(execution)
            if len(batch) == _AT_ONCE:
                await self._add(batch)
                batch = []
        await self._add(batch)
        return self._found

    def _query(self) -> str:
        # A run with a long history has earlier parts, which are not listed.
        parts = [f"WorkflowType = '{known.WORKFLOW}'", "ExecutionStatus != 'ContinuedAsNew'"]
        if self._app_name is not None and not _UNQUOTABLE & set(self._app_name):
            parts.append(f"WorkflowId STARTS_WITH '{self._app_name}:'")
        if self._state is not None and (may_be := _MAY_BE.get(self._state)):
            parts.append(may_be)
        if self._session is not None and self._has_index:
            parts.append(may_be_of(self._session))
        return " AND ".join(parts)

    def _is_past(self, execution: WorkflowExecution) -> bool:
        """Whether this and all that follow are older than what was found.

        Temporal lists open workflows by their beginning, then the others by their end, the latest first.
        """
        latest = execution.close_time or execution.start_time
        return len(self._found) >= self._most and latest.timestamp() < self._found[-1].submitted

    async def _add(self, batch: Sequence[WorkflowExecution]) -> None:
        records = await asyncio.gather(*map(self._record, batch))
        fitting = [record for record in records if record is not None and self._fits(record)]
        newest = sorted([*self._found, *fitting], key=lambda record: record.submitted, reverse=True)
        self._found = newest[: self._most]

    async def _record(self, execution: WorkflowExecution) -> RunRecord | None:
        run = Known.of(execution, await execution.memo())
        if self._app_name not in (None, run.spec.app_name):
            return None
        if self._session not in (None, place_of(run.spec)):
            return None
        if run.is_open and run.left.state != RunState.PAUSED:
            handle = self._client.get_workflow_handle(execution.id, run_id=execution.run_id)
            description = await handle.describe()
            run = Known.of(description, await description.memo())
        return await recorded(self._client, run, self._listened)

    def _fits(self, record: RunRecord) -> bool:
        return self._state in (None, record.state)
