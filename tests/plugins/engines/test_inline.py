"""The inline engine passes the kit of engines."""

from __future__ import annotations

import asyncio

import pytest

from newel import Agent, App, Runner
from newel.engines import EngineBackend, InlineEngine, RunState
from newel.runs import RunCancelledError
from newel.sessions import InMemorySessionService
from newel.testing import ScriptedModel, engine_checks
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


def test_the_engine_of_this_process_takes_no_parameters() -> None:
    composed = compose("standard")
    assert isinstance(composed.open_service(EngineBackend, "inline:"), InlineEngine)
    with pytest.raises(ConfigurationError, match="takes no parameters"):
        composed.open_service(EngineBackend, "inline:?steps=true")
