"""The checks of pauses, and of the answers that end them."""

from __future__ import annotations

import asyncio
from typing import Any

from newel.engines import (
    OVER,
    AnsweredBeforeError,
    BaseEngine,
    RunRecord,
    RunState,
    SpecRefusedError,
    SubmittedRun,
)
from newel.testing.engines.clerk import noted
from newel.testing.engines.place import EnginePlace, answers, state, until, until_file
from newel.testing.sessions.place import refused, same


async def a_run_pauses_until_its_answer_is_stored(place: EnginePlace) -> None:
    """No worker has it meanwhile; the answer is acted on once."""
    worker, file = await place.worker(), place.file()
    run = await place.submit(f"pay {file}")
    record = await state(run, RunState.PAUSED)
    await until_file(lambda: not worker.running, "the worker does not let go of a paused run")
    assert record.outcome is not None, "a paused run has an outcome"
    (question,) = record.outcome.waits_for
    await place.engine.signal(run.key)  # without an answer it pauses again
    await place.answer(run, question)
    await state(run, RunState.ENDED)
    await place.engine.signal(run.key)
    same((await run.record()).state, RunState.ENDED)
    same((noted(file), answers(await place.events(run))), (["paid"], 1))


class _Dies(Exception):
    """Ends a submitter at some point."""


class _Mute:
    """An engine for a submitter that dies once it has stored an answer, before it says so."""

    def __init__(self, engine: BaseEngine) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    async def signal(self, key: str, *, seconds: float = 0.0) -> None:
        if seconds <= 0:
            raise _Dies
        await self._engine.signal(key, seconds=min(seconds, 0.5))


async def an_answer_acts_though_nobody_says_so(place: EnginePlace) -> None:
    """Whoever has stored it may die before the engine hears of it, and nobody need come back."""
    await place.worker()
    file = place.file()
    run = await place.submit(f"pay {file}")
    (question,) = await _asked(run)
    mute = place.runner(engine=_Mute(place.engine))
    await refused(place.answer(run, question, runner=mute), _Dies)
    await state(run, RunState.ENDED)
    same((noted(file), answers(await place.events(run))), (["paid"], 1))


async def of_two_answers_one_is_stored(place: EnginePlace) -> None:
    """Whoever gives the other one is told, in whichever process, and it leaves no trace."""
    await place.worker()
    file = place.file()
    run = await place.submit(f"pay {file}")
    (question,) = await _asked(run)
    runners = [place.runner(), place.another_runner()]
    submitted = [
        place.answer(run, question, confirmed=is_first, runner=one)
        for is_first, one in zip((True, False), runners, strict=True)
    ]
    outcomes = await asyncio.gather(*submitted, return_exceptions=True)
    errors = [one for one in outcomes if isinstance(one, BaseException)]
    same([type(one) for one in errors], [AnsweredBeforeError])
    await state(run, RunState.ENDED)
    events = await place.events(run)
    same(sum(one.id == question for event in events for one in event.get_function_responses()), 1)
    same((noted(file), answers(events)), (["paid"] if errors == [outcomes[1]] else [], 1))


async def a_run_that_is_over_takes_no_answer(place: EnginePlace) -> None:
    """It does not change, and the answer is nowhere: not in the log, and not as a run of its own."""
    await place.worker()
    runs = [await place.submit(f"pay {place.file()}") for _ in range(2)]
    questions = [(await _asked(run))[0] for run in runs]
    await place.answer(runs[0], questions[0])
    await runs[1].cancel()
    for run, question, wanted in zip(runs, questions, (RunState.ENDED, RunState.CANCELLED), strict=True):
        before = await state(run, wanted), await place.events(run)
        error = await refused(place.answer(run, question), SpecRefusedError)
        assert "message" in str(error), f"the error does not name the field: {error}"
        same((await run.record(), await place.events(run)), before)
    same(len(await place.engine.records(app_name=place.app)), 2)


class _Cancelled:
    """An engine for a submitter; once it has looked at a run, somebody else cancels that, and it is over."""

    def __init__(self, engine: BaseEngine) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    async def record(self, key: str) -> RunRecord | None:
        before = await self._engine.record(key)
        await self._engine.cancel(key)

        async def is_over() -> bool:
            record = await self._engine.record(key)
            return record is not None and record.state in OVER

        await until(is_over, "a cancelled run is not over")
        return before


async def an_answer_does_not_revive_a_run(place: EnginePlace) -> None:
    """It stays cancelled if that came between a submitter's look and the answer, which is refused."""
    await place.worker()
    file = place.file()
    run = await place.submit(f"pay {file}")
    (question,) = await _asked(run)
    await refused(place.answer(run, question, runner=place.runner(engine=_Cancelled(place.engine))), SpecRefusedError)
    record = await state(run, RunState.CANCELLED)
    same((record.spec.attempt, noted(file), answers(await place.events(run))), (1, [], 0))


async def _asked(run: SubmittedRun) -> tuple[str, ...]:
    """The questions for which a run waits, once it does."""
    record = await state(run, RunState.PAUSED)
    assert record.outcome is not None, "a paused run has an outcome"
    return record.outcome.waits_for


ANSWER_CHECKS = {
    check.__name__: check
    for check in (
        a_run_pauses_until_its_answer_is_stored,
        an_answer_acts_though_nobody_says_so,
        of_two_answers_one_is_stored,
        a_run_that_is_over_takes_no_answer,
        an_answer_does_not_revive_a_run,
    )
}
