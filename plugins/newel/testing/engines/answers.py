"""The checks of pauses, and of the answers that end them."""

from __future__ import annotations

from newel.engines import RunState
from newel.testing.engines.clerk import noted
from newel.testing.engines.place import EnginePlace, answers, state
from newel.testing.sessions.place import same


async def a_run_pauses_until_its_answer_is_stored(place: EnginePlace) -> None:
    """No worker has it meanwhile; the answer is acted on once."""
    worker, file = await place.worker(), place.file()
    run = await place.submit(f"pay {file}")
    record = await state(run, RunState.PAUSED)
    same([*worker.running], [])
    assert record.outcome is not None, "a paused run has an outcome"
    (question,) = record.outcome.waits_for
    await place.engine.signal(run.key)  # without an answer it pauses again
    await place.answer(run, question)
    await state(run, RunState.ENDED)
    await place.engine.signal(run.key)
    same((await run.record()).state, RunState.ENDED)
    same((noted(file), answers(await place.events(run))), (["paid"], 1))


ANSWER_CHECKS = {check.__name__: check for check in (a_run_pauses_until_its_answer_is_stored,)}
