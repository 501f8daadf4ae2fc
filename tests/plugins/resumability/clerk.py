"""An agent whose tool needs approval, in one process of several: `clerk.py FOLDER CALL_ID CLAIMS` answers a request.

It prints the error codes of the events, or the name of the error.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from kinds import answer, file_effect, send

from newel.agents import LlmAgent
from newel.apps import App, ResumabilityConfig
from newel.runners import Runner
from newel.sessions import SqliteSessionService
from newel.testing import ScriptedModel
from newel.tools import FunctionTool
from newel_compose import Composition, compose
from newel_kernel import BaseSessionService, SessionError
from newel_types import FunctionCall

Meanwhile = Callable[[], Awaitable[object]]


async def nothing() -> None:
    """Nothing happens while the tool runs."""


@cache
def composed(distribution: str | None, *, claims: bool = True, busy: str = "refuse") -> Composition:
    """A distribution, with what happens to a second run of a session; without `claims` nothing keeps two apart."""
    base = compose(distribution).distribution
    changes = {"settings": {**base.settings, "claims": {"busy": busy}}} if claims else {"disable": ("claims",)}
    return compose(base.model_copy(update=changes))


def clerk(
    store: BaseSessionService,
    note: Callable[[str, str], None],
    meanwhile: Meanwhile = nothing,
    *,
    distribution: str | None = None,
    resumable: bool = True,
    claims: bool = True,
    busy: str = "refuse",
    calls: Sequence[str] = ("/a",),
    **tool: Any,
) -> Runner:
    """The runner of an agent that wipes `calls`, each once it is approved; `meanwhile` happens in the first of them."""

    async def wipe(path: str) -> str:
        """Wipe a path."""
        note("wipe", path)
        if path == calls[0]:
            await meanwhile()
        return "wiped"

    steps = [[FunctionCall(name="wipe", args={"path": path}) for path in calls], "done", "more", "still more"]
    agent = LlmAgent(
        name="clerk", model=ScriptedModel(steps), tools=[FunctionTool(wipe, require_confirmation=True, **tool)]
    )
    app = App(name="app", root_agent=agent, resumability_config=ResumabilityConfig(is_resumable=resumable))
    composition = composed(distribution, claims=claims, busy=busy)
    return Runner(app=app, session_service=store, auto_create_session=True, composition=composition)


async def outcome(runner: Runner, message: Any, invocation_id: str | None = None) -> str:
    """What came of a message: the error codes of the events, or the name of the session's error."""
    try:
        events = await send(runner, "s", message, invocation_id)
    except SessionError as error:
        return type(error).__name__
    return " ".join(event.error_code for event in events if event.error_code)


async def main(folder: Path, call_id: str, claims: bool) -> str:
    async with SqliteSessionService(str(folder / "s.db")) as store:
        runner = clerk(store, file_effect(folder / "effects", "second"), claims=claims)
        return await outcome(runner, answer([call_id]))


if __name__ == "__main__":
    print(asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "claims")))
