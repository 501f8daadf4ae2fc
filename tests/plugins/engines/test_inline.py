"""The inline engine passes the kit of engines."""

from __future__ import annotations

import asyncio

import pytest

from newel import Agent, App, Runner
from newel.engines import EngineBackend, InlineEngine, InvocationSpec, Outcome, RunState
from newel.runs import RunCancelledError
from newel.sessions import InMemorySessionService
from newel.testing import ScriptedModel, engine_checks
from newel.testing.engines.clerk import make_file
from newel.testing.engines.place import EnginePlace, open_calls, state
from newel.testing.engines.works import SlowToClose, WorkOf
from newel_compose import compose
from newel_kernel import ConfigurationError

CHECKS = engine_checks(InlineEngine, InMemorySessionService)


@pytest.mark.parametrize("name", CHECKS)
def test_it_does_what_newel_needs_of_an_engine(name: str) -> None:
    CHECKS[name]()


def test_a_run_that_is_cancelled_before_its_first_step_is_over() -> None:
    async def main() -> None:
        app = App(name="desk", root_agent=Agent(name="clerk", model=ScriptedModel(["Good day."])))
        async with Runner(app=app, session_service=InMemorySessionService(), auto_create_session=True) as runner:
            run = await runner.submit(user_id="ann", session_id="1", new_message="Hello")
            await run.cancel()
            with pytest.raises(RunCancelledError):
                await asyncio.wait_for(run.wait(), 30)
            assert (await run.record()).state is RunState.CANCELLED

    asyncio.run(main())


class _Deaf(WorkOf):
    """Work that does not end when it is released."""

    def release(self, key: str) -> None:
        """Nothing happens."""


def test_a_worker_does_not_wait_for_ever_for_what_it_has_released(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("newel.engines.inline._GRACE", 0.05)

    async def main() -> None:
        place = EnginePlace(InlineEngine, InMemorySessionService, "desk")
        worker = await place.worker(_Deaf(place.work()))
        run, file = await place.hanging()
        await asyncio.wait_for(worker.drain(0), 30)
        assert run.key in caplog.text
        make_file(file)
        await state(run, RunState.ENDED)
        await place.close()

    asyncio.run(main())


@pytest.mark.parametrize("first", ["cancel", "deadline"])
def test_a_run_ends_by_what_came_first(first: str) -> None:
    async def main() -> None:
        place = EnginePlace(InlineEngine, InMemorySessionService, "desk")
        work = SlowToClose(place.work())
        await place.worker(work)
        run = await place.submit(f"pay {place.file()}", seconds=0.5)
        await state(run, RunState.PAUSED)
        if first == "cancel":
            await place.engine.cancel(run.key)
        await asyncio.wait_for(work.closes.wait(), 30)
        if first == "cancel":
            await asyncio.sleep(0.6)
        await place.engine.cancel(run.key)
        work.may_close.set()
        await state(run, RunState.CANCELLED if first == "cancel" else RunState.FAILED)
        assert open_calls(await place.events(run)) == set()
        await place.close()

    asyncio.run(main())


def test_calls_that_cannot_be_closed_do_not_keep_a_run(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("newel.engines.inline._FIRST_PAUSE", 0.001)

    class Broken(WorkOf):
        async def close(self, spec: InvocationSpec) -> Outcome:
            raise ValueError("broken")

    async def main() -> None:
        place = EnginePlace(InlineEngine, InMemorySessionService, "desk")
        await place.worker(Broken(place.work()))
        run = await place.submit(f"pay {place.file()}")
        await state(run, RunState.PAUSED)
        await place.engine.cancel(run.key)
        await state(run, RunState.CANCELLED)
        await place.close()

    asyncio.run(main())
    assert "stay open: ValueError" in caplog.text


def test_the_engine_of_this_process_takes_no_parameters() -> None:
    composed = compose("standard")
    assert isinstance(composed.open_service(EngineBackend, "inline:"), InlineEngine)
    with pytest.raises(ConfigurationError, match="takes no parameters"):
        composed.open_service(EngineBackend, "inline:?steps=true")
