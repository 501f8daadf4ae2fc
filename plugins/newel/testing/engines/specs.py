"""The checks of what is submitted: it is refused by the name of a field, or given back as it was for ever after."""

from __future__ import annotations

from typing import Any

from newel.engines import InvocationSpec, Outcome, RunState, SpecRefusedError, Stepping, SubmittedRun, Work
from newel.engines.spec import MOST_BYTES, size_of
from newel.testing.engines.place import EnginePlace, answers, state
from newel.testing.engines.works import WorkOf
from newel.testing.sessions.place import refused, same

_NUL = "a\0b"


async def _sibling(place: EnginePlace, run: SubmittedRun, **fields: Any) -> SubmittedRun:
    """Another run in the session of a run."""
    where: dict[str, Any] = {"user_id": run.spec.user_id, "session_id": run.spec.session_id}
    return await place.runner().submit(**where, new_message="hello", **fields)


class _FailsFirst(WorkOf):
    """Work whose first attempt at a run fails."""

    def __init__(self, work: Work, key: str) -> None:
        super().__init__(work)
        self._key: str | None = key

    async def __call__(self, spec: InvocationSpec, stepping: Stepping | None = None) -> Outcome:
        if spec.key == self._key:
            self._key = None
            return Outcome(state=RunState.FAILED, error="OSError")
        return await super().__call__(spec, stepping)


async def the_largest_run_is_listed_and_run_again(place: EnginePlace) -> None:
    """What was accepted can be read whatever comes: a retry makes it larger."""
    first, id_ = await place.submit("hello"), "largest"
    room = MOST_BYTES - size_of(first.spec.model_copy(update={"invocation_id": id_, "state_delta": {"x": ""}}))
    largest = await _sibling(place, first, invocation_id=id_, state_delta={"x": "x" * room})
    same(size_of(largest.spec), MOST_BYTES)
    await place.worker(_FailsFirst(place.work(), largest.key))
    await state(largest, RunState.FAILED)
    await place.engine.retry(largest.key)
    await state(largest, RunState.QUEUED, RunState.RUNNING, RunState.ENDED)
    await state(largest, RunState.ENDED)
    await state(first, RunState.ENDED)
    listed = {one.spec.key for one in await place.engine.records(app_name=place.app)}
    same(listed, {first.key, largest.key})


async def what_may_not_be_submitted_is_refused_by_its_name(place: EnginePlace) -> None:
    """Whatever made the spec, and nothing of it is left."""
    spec = (await place.submit("hello")).spec
    wrong: dict[str, Any] = {
        "invocation_id": "x" * 201,
        "user_id": _NUL,
        "tenant": _NUL,
        "priority": 6,
        "state_delta": {"x": "x" * MOST_BYTES},
        "colour": "red",
    }
    for name, value in wrong.items():
        another = spec.model_copy(update={"invocation_id": "another", name: value})
        error = await refused(place.engine.submit(another), SpecRefusedError)
        assert name in str(error), f"the error about {name} does not name it: {error}"
    same([one.spec.key for one in await place.engine.records(app_name=place.app)], [spec.key])


async def words_come_back_as_they_were(place: EnginePlace) -> None:
    """Also a character that not every database has in its texts."""
    await place.worker()
    fields: dict[str, Any] = {"state_delta": {"x": _NUL}, "custom_metadata": {"x": [_NUL]}}
    run = await place.submit(f"hello {_NUL}", **fields)
    record = await state(run, RunState.ENDED)
    for name, value in fields.items():
        same(getattr(record.spec, name), value)
    events = await place.events(run)
    same((answers(events), [event.text for event in events if event.author == "user"]), (1, [f"hello {_NUL}"]))
    same([(event.custom_metadata or {}).get("x") for event in events], [[_NUL]] * len(events))


SPEC_CHECKS = {
    check.__name__: check
    for check in (
        the_largest_run_is_listed_and_run_again,
        what_may_not_be_submitted_is_refused_by_its_name,
        words_come_back_as_they_were,
    )
}
