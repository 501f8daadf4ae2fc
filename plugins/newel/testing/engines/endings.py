"""The checks of ends: by a cancellation, a failure, a deadline, or the deletion of the session."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from newel.engines import TIME_IS_OVER, RunState
from newel.sessions.contract import SessionStore
from newel.sessions.errors import StoreUnavailableError
from newel.testing.engines.clerk import NotYetError, make_file, noted
from newel.testing.engines.place import LONGEST, EnginePlace, answers, open_calls, state
from newel.testing.engines.works import SlowToClose
from newel.testing.sessions.place import same
from newel_kernel import Event


async def a_queued_run_is_cancelled(place: EnginePlace) -> None:
    """No worker takes it any more."""
    run = await place.submit("hello")
    await run.cancel()
    await state(run, RunState.CANCELLED)
    await place.worker()
    await state(await place.submit("hello"), RunState.ENDED)
    same(((await run.record()).state, await place.events(run)), (RunState.CANCELLED, []))


async def a_running_run_is_cancelled(place: EnginePlace) -> None:
    """Its open call gets a result, and its worker goes on with others."""
    await place.worker(concurrency=1)
    run, _ = await place.hanging()
    await run.cancel()
    record = await state(run, RunState.CANCELLED)
    assert record.ended is not None, "a cancelled run has ended"
    events = await place.events(run)
    same((open_calls(events), answers(events)), (set(), 0))
    await state(await place.submit("hello"), RunState.ENDED)


async def a_paused_run_is_cancelled(place: EnginePlace) -> None:
    """It waits no longer: a later answer lets nothing happen."""
    await place.worker()
    file = place.file()
    run = await place.submit(f"pay {file}")
    await state(run, RunState.PAUSED)
    await run.cancel()
    await state(run, RunState.CANCELLED)
    events = await place.events(run)
    same((open_calls(events), answers(events)), (set(), 0))
    same(await place.runner().questions(user_id=run.spec.user_id, session_id=run.spec.session_id), [])
    same(noted(file), [])


async def a_run_is_cancelled_again_while_it_closes(place: EnginePlace) -> None:
    """It is over once it is closed: neither the second cancellation nor an answer has it go on."""
    work = SlowToClose(place.work())
    await place.worker(work)
    file = place.file()
    run = await place.submit(f"pay {file}")
    await state(run, RunState.PAUSED)
    await place.engine.cancel(run.key)
    async with asyncio.timeout(LONGEST):
        await work.closes.wait()
    await place.engine.cancel(run.key)
    await place.engine.signal(run.key)
    await asyncio.sleep(0.1)  # what has to end nothing is given the time to do so
    work.may_close.set()
    await state(run, RunState.CANCELLED)
    await place.engine.signal(run.key)
    events = await place.events(run)
    same((open_calls(events), answers(events), noted(file)), (set(), 0, []))
    same((await run.record()).state, RunState.CANCELLED)


class _Outage:
    """A store that is away when it is to store the next events."""

    def __init__(self, store: SessionStore, refusals: int) -> None:
        self.left = refusals
        for name in ("append_event", "append_out_of_band"):
            setattr(store, name, partial(self._append, getattr(store, name)))

    async def _append(self, append: Callable[..., Awaitable[Event]], *arguments: Any, **named: Any) -> Event:
        if self.left > 0:
            self.left -= 1
            raise StoreUnavailableError("away")
        return await append(*arguments, **named)


async def a_run_is_cancelled_while_the_store_is_away(place: EnginePlace) -> None:
    """It is over once its calls have their results: the engine tries until the store is back."""
    await place.worker()
    paused = await place.submit(f"pay {place.file()}")
    await state(paused, RunState.PAUSED)
    running, _ = await place.hanging()
    for run in (paused, running):
        outage = _Outage(place.store, 2)
        await place.engine.cancel(run.key)
        await state(run, RunState.CANCELLED)
        events = await place.events(run)
        same((outage.left, open_calls(events), answers(events)), (0, set(), 0))
        same(await place.questions(run), [])


async def an_ended_run_stays_as_it_is(place: EnginePlace) -> None:
    """It is neither cancelled nor run again."""
    await place.worker()
    run = await place.submit("hello")
    before = await state(run, RunState.ENDED)
    await run.cancel()
    await place.engine.retry(run.key)
    same((await run.record(), answers(await place.events(run))), (before, 1))


async def a_failed_run_is_run_again_only_if_asked(place: EnginePlace) -> None:
    """No engine tries a failed agent again by itself."""
    await place.worker()
    file = place.file()
    run = await place.submit(f"fail {file}")
    record = await state(run, RunState.FAILED)
    same((record.attempts, record.outcome and record.outcome.error), (1, NotYetError.__name__))
    make_file(file)
    await place.engine.retry(run.key)
    await state(run, RunState.QUEUED, RunState.RUNNING, RunState.ENDED)
    record = await state(run, RunState.ENDED)
    same(answers(await place.events(run)), 1)
    assert record.attempts + record.spec.attempt > 2, "neither its attempts nor its spec say that it was run again"
    same([one.state for one in await place.engine.records(app_name=place.app)], [RunState.ENDED])
    same(list(await place.engine.records(app_name=place.app, state=RunState.FAILED)), [])


async def a_run_has_only_so_long(place: EnginePlace) -> None:
    """Then it has failed and says why, whether it is queued, running or paused; nothing of it stays open."""
    await place.worker()
    messages = {"queued": "hello", "running": f"hang {place.file()}", "paused": f"pay {place.file()}"}
    versions = {"queued": "none has it"}
    runs = [
        await place.submit(message, version=versions.get(name, ""), seconds=3.0) for name, message in messages.items()
    ]
    for run in runs:
        record = await state(run, RunState.FAILED)
        same(record.outcome and (record.outcome.state, record.outcome.error), (RunState.FAILED, TIME_IS_OVER))
        assert record.reason, "nothing says why it has ended"
        same(open_calls(await place.events(run)), set())
        same(await place.questions(run), [])


async def a_deleted_session_is_not_made_again(place: EnginePlace) -> None:
    """Its runs have failed, whether they had begun or not."""
    await place.worker()
    paused = await place.submit(f"pay {place.file()}")
    await state(paused, RunState.PAUSED)
    await place.delete_session(paused)
    await place.engine.signal(paused.key)
    queued = await place.submit("hello", version="1")
    await place.delete_session(queued)
    await place.worker(version="1")
    for run in (paused, queued):
        record = await state(run, RunState.FAILED)
        assert "session" in record.reason, f"its reason does not say that the session is gone: {record.reason!r}"
        same(await place.events(run), [])
        same(await place.has_session(run), False)


ENDING_CHECKS = {
    check.__name__: check
    for check in (
        a_queued_run_is_cancelled,
        a_running_run_is_cancelled,
        a_paused_run_is_cancelled,
        a_run_is_cancelled_again_while_it_closes,
        a_run_is_cancelled_while_the_store_is_away,
        an_ended_run_stays_as_it_is,
        a_failed_run_is_run_again_only_if_asked,
        a_run_has_only_so_long,
        a_deleted_session_is_not_made_again,
    )
}
