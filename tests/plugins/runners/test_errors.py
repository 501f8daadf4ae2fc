"""What a runner refuses is said without repeating a long id."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from newel import Agent, App, Runner
from newel.apps import ResumabilityConfig
from newel.sessions import InMemorySessionService
from newel.testing import ScriptedModel
from newel_kernel import NewelError
from newel_types import Content, FunctionResponse, Part

LONG = "x" * 1_000_000
ANSWER = Content(role="user", parts=[Part(function_response=FunctionResponse(id=LONG, name="f", response={}))])


def resumed(runner: Runner) -> AsyncGenerator[Any, None]:
    return runner.run_async(user_id="u", session_id="s", invocation_id=LONG)


def answered(runner: Runner) -> AsyncGenerator[Any, None]:
    return runner.run_async(user_id="u", session_id="s", new_message=ANSWER)


def unknown(runner: Runner) -> AsyncGenerator[Any, None]:
    return runner.run_async(user_id=LONG, session_id=LONG, new_message="hi")


async def rewound(runner: Runner) -> AsyncGenerator[Any, None]:
    await runner.rewind_async(user_id="u", session_id="s", rewind_before_invocation_id=LONG)
    yield


@pytest.mark.parametrize("resumable", [True, False])
@pytest.mark.parametrize("attempt", [resumed, answered, unknown, rewound])
def test_an_error_repeats_no_long_id(attempt: Callable[[Runner], AsyncGenerator[Any, None]], resumable: bool) -> None:
    async def go() -> str:
        service = InMemorySessionService()
        await service.create_session(app_name="a", user_id="u", session_id="s")
        agent = Agent(name="a", model=ScriptedModel([]))
        app = App(name="a", root_agent=agent, resumability_config=ResumabilityConfig(is_resumable=resumable))
        runner = Runner(app=app, session_service=service)
        with pytest.raises(NewelError) as caught:
            async for _ in attempt(runner):
                pass
        return str(caught.value)

    message = asyncio.run(go())
    assert len(message) < 1_000
    assert "xxx... (1000000 characters)" in message or (attempt is resumed and not resumable)
