"""The checks of one process: what an engine says of its runs, and what becomes of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from newel.engines import (
    InvocationSpec,
    Outcome,
    PostponedError,
    RunNotFoundError,
    RunState,
    SpecRefusedError,
    Stepping,
    Work,
)
from newel.engines.places import place_of
from newel.sessions import StoreUnavailableError
from newel.testing.engines.clerk import make_file, noted
from newel.testing.engines.place import LONGEST, EnginePlace, answers, state, until_file
from newel.testing.engines.works import WorkOf
from newel.testing.sessions.place import refused, same


async def a_run_ends_with_one_answer(place: EnginePlace) -> None:
    """Its record says when, where and how; its events are in the log."""
    run = await place.submit("hello")
    same((await run.record()).state, RunState.QUEUED)
    await place.worker(name="first")
    answer = await run.wait()
    record = await state(run, RunState.ENDED)
    events = await place.events(run)
    same((answers(events), answer is not None and answer.id in {event.id for event in events}), (1, True))
    same((record.spec, record.attempts), (run.spec, 1))
    assert "first" in record.worker, f"the worker is {record.worker!r}, and its name is 'first'"
    times = [record.submitted, record.started or 0.0, record.ended or 0.0]
    same(times, sorted(times))
    same(record.outcome, Outcome(state=RunState.ENDED, events=len(events)))


async def a_second_submission_is_the_same_run(place: EnginePlace) -> None:
    """At once, while it runs and after its end."""
    spec = (await place.submit("hello")).spec
    records = await asyncio.gather(*(place.engine.submit(spec) for _ in range(4)))
    same([record.spec for record in records], [spec] * 4)
    await place.worker()
    run = await place.runner().submit(
        user_id=spec.user_id, session_id=spec.session_id, invocation_id=spec.invocation_id, new_message="hello"
    )
    await state(run, RunState.ENDED)
    same((await place.engine.submit(spec)).state, RunState.ENDED)
    events = await place.events(run)
    same((answers(events), sum(event.author == "user" for event in events)), (1, 1))


async def another_run_with_its_key_is_refused(place: EnginePlace) -> None:
    """Whatever it says otherwise, by the name of the field."""
    spec = (await place.submit("hello")).spec
    others = {"user_id": "v", "session_id": "other", "message": {"parts": [{"text": "bye"}]}, "tenant": "t"}
    for name, value in others.items():
        error = await refused(place.engine.submit(spec.model_copy(update={name: value})), SpecRefusedError)
        assert name in str(error), f"the error about {name} does not name it: {error}"


async def a_run_that_nobody_submitted_is_not_found(place: EnginePlace) -> None:
    """By any method."""
    same(await place.engine.record(f"{place.app}:nothing"), None)
    for method in (place.engine.signal, place.engine.cancel, place.engine.retry):
        await refused(method(f"{place.app}:nothing"), RunNotFoundError)


async def a_run_waits_for_a_worker_that_fits(place: EnginePlace) -> None:
    """Workers of another version do not touch it."""
    waits = await place.submit("hello", version="1")
    await place.worker(version="2")
    await state(await place.submit("hello", version="2"), RunState.ENDED)
    record = await waits.record()
    same((record.state, record.attempts, await place.events(waits)), (RunState.QUEUED, 0, []))
    await place.worker(version="1")
    await state(waits, RunState.ENDED)


class _Hesitant(WorkOf):
    """Work that raises some errors first, or fails."""

    def __init__(self, work: Work, errors: Sequence[Exception | Outcome]) -> None:
        super().__init__(work)
        self.errors = [*errors]

    async def __call__(self, spec: InvocationSpec, stepping: Stepping | None = None) -> Outcome:
        if self.errors:
            if isinstance(error := self.errors.pop(), Outcome):
                return error
            raise error
        return await super().__call__(spec, stepping)


async def postponed_work_is_no_attempt(place: EnginePlace) -> None:
    """The run is handed out again, however often."""
    work = _Hesitant(place.work(), [PostponedError("not yet", 0.05) for _ in range(7)])
    await place.worker(work)
    record = await state(run := await place.submit("hello"), RunState.ENDED)
    same((record.attempts, work.errors, answers(await place.events(run))), (1, [], 1))


async def work_that_breaks_is_tried_again(place: EnginePlace) -> None:
    """As when a store is away."""
    work = _Hesitant(place.work(), [StoreUnavailableError("away") for _ in range(2)])
    await place.worker(work)
    record = await state(run := await place.submit("hello"), RunState.ENDED)
    same((record.attempts, work.errors, answers(await place.events(run))), (3, [], 1))


async def a_run_that_failed_before_its_message_was_stored_is_run_again_with_it(place: EnginePlace) -> None:
    """What the log does not have, the engine still has."""
    await place.worker(_Hesitant(place.work(), [Outcome(state=RunState.FAILED, error="OSError")]))
    await state(run := await place.submit("hello"), RunState.FAILED)
    await place.engine.retry(run.key)
    await state(run, RunState.ENDED)
    events = await place.events(run)
    same((answers(events), [event.text for event in events if event.author == "user"]), (1, ["hello"]))


async def a_worker_that_drains_ends_its_runs(place: EnginePlace) -> None:
    """If they end in time; it takes no more."""
    worker = await place.worker()
    run, file = await place.hanging()
    draining = asyncio.create_task(worker.drain(60))
    await asyncio.sleep(0)
    later = await place.submit("hello")
    make_file(file)
    await draining
    await state(run, RunState.ENDED)
    same(len(noted(f"{file}.begun")), 1)
    same((await later.record()).state, RunState.QUEUED)
    await place.worker()
    await state(later, RunState.ENDED)


async def a_worker_that_drains_releases_what_is_left(place: EnginePlace) -> None:
    """Another one goes on with it: nothing was cancelled, and nothing is restarted from its beginning."""
    worker = await place.worker(name="first")
    run, file = await place.hanging()
    await worker.drain(0)
    same([*worker.running], [])
    same(len(await place.events(run)), 2)  # the message and the call
    await place.worker(name="second")
    await until_file(lambda: len(noted(f"{file}.begun")) > 1, "no other worker has taken the run")
    make_file(file)
    record = await state(run, RunState.ENDED)
    events = await place.events(run)
    same((answers(events), sum(event.author == "user" for event in events)), (1, 1))
    same([len(event.get_function_calls()) for event in events if event.get_function_calls()], [1])
    assert "second" in record.worker, f"the worker is {record.worker!r}, and 'second' has ended it"


async def a_worker_drains_at_once(place: EnginePlace) -> None:
    """Also if it has just been given a run, which it may not have begun."""
    worker, file = await place.worker(name="first"), place.file()
    run = await place.submit(f"hang {file}")
    async with asyncio.timeout(LONGEST):
        await worker.drain(0)
    same([*worker.running], [])
    await place.worker(name="second")
    make_file(file)
    await state(run, RunState.ENDED)
    same(answers(await place.events(run)), 1)


async def a_worker_has_only_so_many_runs(place: EnginePlace) -> None:
    """The others wait, and each gets its turn."""
    worker, file = await place.worker(concurrency=2), place.file()
    runs = [await place.submit(f"hang {file}") for _ in range(4)]
    await until_file(lambda: len(noted(f"{file}.begun")) == 2, "two runs have not begun")
    same(len(worker.running), 2)
    states = sorted([(await run.record()).state for run in runs])
    same(states, [RunState.QUEUED] * 2 + [RunState.RUNNING] * 2)
    make_file(file)
    for run in runs:
        await state(run, RunState.ENDED)
    same(len(noted(f"{file}.ended")), 4)


async def runs_are_listed(place: EnginePlace) -> None:
    """By app and state, the newest first."""
    await place.worker(version="1")
    runs = [await place.submit("hello", version="1"), await place.submit(f"pay {place.file()}", version="1")]
    await state(runs[0], RunState.ENDED)
    await state(runs[1], RunState.PAUSED)
    queued = await place.submit("hello", version="2")
    keys = [queued.key, runs[1].key, runs[0].key]
    same([one.spec.key for one in await place.engine.records(app_name=place.app)], keys)
    same([one.spec.key for one in await place.engine.records(app_name=place.app, most=2)], keys[:2])
    for key, wanted in zip(keys, (RunState.QUEUED, RunState.PAUSED, RunState.ENDED), strict=True):
        listed = await place.engine.records(app_name=place.app, state=wanted)
        same([(one.spec.key, one.state) for one in listed], [(key, wanted)])
    same(list(await place.engine.records(app_name=f"{place.app}-other")), [])
    session = place_of(queued.spec)
    own = [one.spec.key for one in (queued, runs[1], runs[0]) if place_of(one.spec) == session]
    same([one.spec.key for one in await place.engine.records(session=session)], own)
    found = await place.engine.records(app_name=place.app, state=RunState.QUEUED, session=session)
    same([one.spec.key for one in found], [queued.key])
    same(list(await place.engine.records(session={**session, "user_id": "somebody else"})), [])


CHECKS = {
    check.__name__: check
    for check in (
        a_run_ends_with_one_answer,
        a_second_submission_is_the_same_run,
        another_run_with_its_key_is_refused,
        a_run_that_nobody_submitted_is_not_found,
        a_run_waits_for_a_worker_that_fits,
        postponed_work_is_no_attempt,
        work_that_breaks_is_tried_again,
        a_run_that_failed_before_its_message_was_stored_is_run_again_with_it,
        a_worker_that_drains_ends_its_runs,
        a_worker_that_drains_releases_what_is_left,
        a_worker_drains_at_once,
        a_worker_has_only_so_many_runs,
        runs_are_listed,
    )
}
