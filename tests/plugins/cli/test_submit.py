"""A submitted run that waits says what can be done, and what it says works."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import pytest

from newel import Agent, Runner
from newel.auth import AuthConfig, AuthCredential
from newel.auth.auth_schemes import APIKey
from newel.cli.engine_options import EngineRuns
from newel.cli.submit import _waited
from newel.engines import InlineEngine, RunState
from newel.sessions import InMemorySessionService
from newel.testing import ScriptedModel
from newel.tools import AuthenticatedFunctionTool
from newel_types import FunctionCall


class Elsewhere(InlineEngine):
    """An engine whose workers are other processes, which share no credential service with this one."""

    in_process: ClassVar[bool] = False


def look(credential: AuthCredential) -> str:
    """Look out of the window."""
    return "rain"


def test_a_credential_is_asked_for_where_it_is_taken(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        key = AuthConfig(auth_scheme=APIKey(in_="header", name="X-Key"), credential_key="weather")
        agent = Agent(
            name="shop",
            model=ScriptedModel([FunctionCall(name="look", args={}), FunctionCall(name="look", args={}), "It rains."]),
            tools=[AuthenticatedFunctionTool(look, auth_config=key)],
        )
        store = InMemorySessionService()
        async with Runner(app_name="shop", agent=agent, session_service=store, auto_create_session=True) as runner:
            run = await runner.submit(user_id="ann", session_id="s", new_message="hi", invocation_id="r")
            runs = EngineRuns("shop", runner, Elsewhere(), ("--sessions", "sqlite:///s.db"))
            assert await _waited(runs, run) == 3
            said = capsys.readouterr().err
            assert "--answer" not in said
            assert (
                "newel runs cancel shop r --sessions sqlite:///s.db, set NEWEL_CREDENTIAL_WEATHER for the wor" in said
            )
            await run.cancel()
            monkeypatch.setenv("NEWEL_CREDENTIAL_WEATHER", "k")
            again = await runner.submit(user_id="ann", session_id="s", new_message="hi")
            last = await again.wait()
            assert last is not None
            assert (last.text, (await again.record()).state) == ("It rains.", RunState.ENDED)

    asyncio.run(main())
