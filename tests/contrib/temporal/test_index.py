"""The runs of a session are found among those of an app without reading these."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from temporalio import workflow
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.service import RPCError, RPCStatusCode
from tests.contrib.temporal.servers import Scripted, Server, a_spec, until, working

from newel.engines import InvocationSpec, Outcome, PostponedError, RunState
from newel.engines.places import place_of
from newel_temporal import TemporalEngine
from newel_temporal import engine as engines
from newel_temporal.index import NAME, has_index
from newel_temporal.listing import Listing


async def _paused(spec: InvocationSpec) -> Outcome:
    return Outcome(state=RunState.PAUSED, waits_for=("call-1",))


def _of(spec: InvocationSpec, session: str, at: int) -> InvocationSpec:
    return spec.model_copy(update={"session_id": session, "invocation_id": f"{session}-{at}"})


async def _found(engine: TemporalEngine, spec: InvocationSpec) -> set[str]:
    return {one.spec.invocation_id for one in await engine.records(app_name=spec.app_name, session=place_of(spec))}


async def _submitted(engine: TemporalEngine, *specs: InvocationSpec) -> None:
    for spec in specs:
        await engine.submit(spec)
    for spec in specs:
        await until(engine, spec.key, RunState.PAUSED)


def test_only_the_runs_of_the_session_are_read(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    record: Any = Listing._record

    async def counted(listing: Listing, execution: Any) -> Any:
        read.append(execution.id)
        return await record(listing, execution)

    monkeypatch.setattr(Listing, "_record", counted)

    async def main() -> None:
        engine, spec = server.engine(), a_spec()
        others = [_of(spec, f"other{at}", at) for at in range(5)]
        own = [_of(spec, "own", at) for at in range(2)]
        async with working(engine, Scripted(_paused), spec):
            await _submitted(engine, *others, *own)
        assert await _found(engine, own[0]) == {"own-0", "own-1"}
        assert set(read) == {one.key for one in own}
        await engine.close()

    asyncio.run(main())


def test_a_run_from_before_there_was_an_index_is_found(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    async def no(client: object) -> bool:
        return False

    async def main() -> None:
        spec = a_spec()
        own = [_of(spec, "own", at) for at in range(2)]
        with monkeypatch.context() as patched:
            patched.setattr(engines, "has_index", no)
            without = server.engine()
            async with working(without, Scripted(_paused), spec):
                await _submitted(without, own[0])
                engine = server.engine()
                await _submitted(without, _of(spec, "other", 1))
                patched.undo()
                await _submitted(engine, own[1])
        assert await _found(engine, own[0]) == await _found(without, own[0]) == {"own-0", "own-1"}
        await without.close()
        await engine.close()

    asyncio.run(main())


def test_a_run_with_a_history_of_its_own_is_found(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        workflow.Info, "is_continue_as_new_suggested", lambda info: info.get_current_history_length() > 10
    )

    async def main() -> None:
        engine, spec = server.engine(), a_spec()

        async def script(spec: InvocationSpec) -> Outcome:
            if len(work.begun) < 6:
                raise PostponedError("busy", 0.01)
            return await _paused(spec)

        work = Scripted(script)
        async with working(engine, work, spec):
            await _submitted(engine, spec)
        description = await (await engine.client()).get_workflow_handle(spec.key).describe()
        assert description.run_id != description.raw_info.first_run_id
        assert await _found(engine, spec) == {spec.invocation_id}
        await engine.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("found", "refused", "is_there"),
    [
        ({NAME: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD}, None, True),
        ({NAME: IndexedValueType.INDEXED_VALUE_TYPE_INT}, None, False),
        ({}, None, True),
        ({}, RPCStatusCode.ALREADY_EXISTS, True),  # somebody else has just made it
        ({}, RPCStatusCode.PERMISSION_DENIED, False),
    ],
)
def test_the_attribute_is_made_where_it_may(
    found: dict[str, int], refused: RPCStatusCode | None, is_there: bool
) -> None:
    made: list[str] = []

    class Service:
        async def list_search_attributes(self, request: Any) -> object:
            return SimpleNamespace(custom_attributes=found)

        async def add_search_attributes(self, request: Any) -> None:
            if refused is not None:
                raise RPCError("no", refused, b"")
            made.extend(request.search_attributes)

    client: Any = SimpleNamespace(operator_service=Service(), namespace="agents")
    assert asyncio.run(has_index(client)) == is_there
    assert made == ([NAME] if not found and refused is None else [])
