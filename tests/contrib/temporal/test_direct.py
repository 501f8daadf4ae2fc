"""Runs that go to the worker that decides about them, without the way through their queue."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from temporalio import workflow
from temporalio.testing import ActivityEnvironment
from tests.contrib.temporal.servers import BOUND, Scripted, Server, a_spec, ended, until, working

from newel.engines import OVER, InvocationSpec, Outcome, RunState
from newel_temporal import TemporalEngine, activities, slots
from newel_temporal import order as known
from newel_temporal.activities import Runs
from newel_temporal.slots import RunSlots
from newel_temporal.workflow import Run


async def _queues(engine: TemporalEngine, key: str) -> list[str]:
    """The queues that a run was handed out in, one after the other."""
    history = await (await engine.client()).get_workflow_handle(key).fetch_history()
    scheduled = [event.activity_task_scheduled_event_attributes for event in history.events]
    return [one.task_queue.name for one in scheduled if one.activity_type.name == known.RUN]


def _numbered(spec: InvocationSpec, at: int) -> InvocationSpec:
    return spec.model_copy(update={"invocation_id": f"e-{at}"})


async def _at_once(spec: InvocationSpec) -> Outcome:
    return ended()


@pytest.mark.parametrize(
    ("concurrency", "parameters", "is_direct"),
    [
        pytest.param(3, {}, True, id="room for it"),
        pytest.param(2, {}, False, id="only the places of polls"),
        pytest.param(3, {"per_second": 50}, False, id="runs are counted"),
    ],
)
def test_a_worker_with_room_takes_what_it_decides_about(
    concurrency: int, parameters: dict[str, Any], is_direct: bool, server: Server
) -> None:
    async def main() -> None:
        engine, spec, work = server.engine(**parameters), a_spec(), Scripted(_at_once)
        async with working(engine, work, spec, concurrency=concurrency):
            await engine.submit(spec)
            record = await until(engine, spec.key, *OVER)
        assert (record.state, record.attempts) == (RunState.ENDED, 1)
        assert await _queues(engine, spec.key) == [known.DECISIONS if is_direct else spec.queue]
        await engine.close()

    asyncio.run(main())


def test_no_worker_runs_what_another_app_has(server: Server) -> None:
    async def main() -> None:
        engine, one, other = server.engine(), a_spec(), a_spec()
        works = {spec.app_name: Scripted(_at_once) for spec in (one, other)}
        specs = [_numbered(spec, at) for at in range(10) for spec in (one, other)]
        async with working(engine, works[one.app_name], one), working(engine, works[other.app_name], other):
            await asyncio.gather(*map(engine.submit, specs))
            for spec in specs:
                record = await until(engine, spec.key, *OVER)
                assert (record.state, record.attempts) == (RunState.ENDED, 1)
        for app, work in works.items():
            assert sorted(spec.key for spec in work.begun) == sorted(spec.key for spec in specs if spec.app_name == app)
        await engine.close()

    asyncio.run(main())


def test_all_places_of_all_workers_are_used_and_no_more(server: Server) -> None:
    async def main() -> None:
        engine, spec, gate = server.engine(), a_spec(), asyncio.Event()

        async def script(spec: InvocationSpec) -> Outcome:
            await gate.wait()
            return ended()

        works, specs = (Scripted(script), Scripted(script)), [_numbered(spec, at) for at in range(8)]
        async with working(engine, works[0], spec, concurrency=3), working(engine, works[1], spec, concurrency=3):
            for one in specs:
                await engine.submit(one)
            async with asyncio.timeout(BOUND):
                while sum(len(work.begun) for work in works) < 6:
                    await asyncio.sleep(0.02)
            await asyncio.sleep(0.3)
            assert [len(work.begun) for work in works] == [3, 3]
            gate.set()
            for one in specs:
                assert (await until(engine, one.key, *OVER)).attempts == 1
        await engine.close()

    asyncio.run(main())


def test_no_run_passes_others_that_wait_in_its_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "_QUIET", 0.05)

    async def main() -> None:
        room: Any = RunSlots(Runs(Scripted(_at_once), "one", beat=1, concurrency=2), 2)
        assert room.has_room
        assert room.try_reserve_slot(None) is not None
        room.mark_slot_used(None)  # a run came through the queue, and another one may come with the next poll
        assert room.is_free
        assert not room.has_room
        await asyncio.sleep(0.1)
        assert room.has_room
        assert room.try_reserve_slot(None) is not None
        assert not room.has_room

    asyncio.run(main())


def test_one_that_comes_to_a_worker_without_room_is_sent_to_its_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activities, "_KEPT", 0.05)

    async def main() -> None:
        environment, work, spec = ActivityEnvironment(), Scripted(_at_once), a_spec()
        environment.info = replace(environment.info, task_queue=known.DECISIONS, attempt=3)
        data, free = spec.model_dump(mode="json", exclude_defaults=True), 1
        runs = Runs(work, "one", beat=1, concurrency=1)
        assert not await environment.run(runs.room, spec.key, spec.queue)
        runs.serve(spec.queue, lambda: runs.untaken < free)
        assert not await environment.run(runs.room, spec.key, "another queue")

        assert await environment.run(runs.room, spec.key, spec.queue)
        assert await environment.run(runs.room, spec.key, spec.queue)  # decided once more, as after a decision's loss
        assert not await environment.run(runs.room, "another run", spec.queue)  # the place is kept
        assert (await environment.run(runs.run, data)).state == RunState.ENDED
        await runs.idle.wait()

        assert await environment.run(runs.room, "one that does not come", spec.queue)
        async with asyncio.timeout(BOUND):
            while runs.untaken:
                await asyncio.sleep(0.01)

        free = 0
        left = await environment.run(runs.run, data)
        assert (left.state, left.attempts) == (known.ELSEWHERE, 2)
        free = 1
        runs.serve_no_more()
        assert (await environment.run(runs.run, data)).state == known.ELSEWHERE
        assert len(work.begun) == 1

    asyncio.run(main())


def test_a_run_that_is_cancelled_as_a_place_is_found_goes_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would not be cancelled any more."""

    async def main() -> None:
        place = asyncio.get_running_loop().create_future()
        place.set_result(True)
        monkeypatch.setattr(workflow, "start_local_activity", lambda *_, **__: place)
        monkeypatch.setattr(workflow, "info", lambda: SimpleNamespace(workflow_id="key"))
        run: Any = Run.__new__(Run)
        run._order, run._cut = SimpleNamespace(queue="queue"), ""

        async def until(done: object) -> None:
            run._cut = "cancelled"

        run._until = until
        assert not await run._has_room()

    asyncio.run(main())
