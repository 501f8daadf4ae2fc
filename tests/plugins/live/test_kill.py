"""A process killed at any step of a live turn leaves a session that reads, pairs, and goes on in a unary run."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from newel.agents import LlmAgent
from newel.runners import Runner
from newel.sessions.sqlite_session_service import SqliteSessionService
from newel.testing import ScriptedModel
from newel_kernel import Event, Log
from newel_types import Content, Part

_CHILD = """
import asyncio, os, sys
from newel.agents import LiveRequestQueue, LlmAgent
from newel.runners import Runner
from newel.sessions.sqlite_session_service import SqliteSessionService
from newel.testing import TURN_COMPLETE, WaitFor, ScriptedLiveModel
from newel_types import Content, FunctionCall, Part

steps = {"append": 0, "stored": 0, "tool": 0}

def step(name):
    steps[name] += 1
    if name == kind and steps[name] == number:
        os._exit(9)

class Store(SqliteSessionService):
    async def append_event(self, session, event):
        step("append")
        stored = await super().append_event(session, event)
        step("stored")
        return stored

def look(x: int) -> dict:
    "Look."
    step("tool")
    return {"seen": x}

def call(n):
    return FunctionCall(name="look", args={"x": n}, id=f"c{n}")

async def main(path):
    script = [WaitFor("content"), call(1), WaitFor("results"), call(2), WaitFor("results"), "both seen", TURN_COMPLETE]
    agent = LlmAgent(name="root", model=ScriptedLiveModel(script), tools=[look])
    runner = Runner(app_name="app", agent=agent, session_service=Store(path), auto_create_session=True)
    queue = LiveRequestQueue()
    queue.send_content(Content(role="user", parts=[Part(text="look twice")]))
    async for event in runner.run_live(user_id="u", session_id="s", live_request_queue=queue):
        if event.turn_complete:
            os._exit(0)

folder, *points = sys.argv[1:]
for point in points:
    kind, number = point[:-1], int(point[-1])
    if child := os.fork():
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    else:
        asyncio.run(main(f"{folder}/{point}.db"))
"""
#: What is stored: the words, a call, its result, a call, its result, the answer, the end of the turn.
_POINTS = [("append", n) for n in (1, 2, 4, 7)] + [("stored", n) for n in (1, 2, 3, 5, 6)] + [("tool", 1), ("tool", 2)]


def look(x: int) -> dict[str, int]:
    """Look."""
    return {"seen": x}


def _statuses(folder: Path, *points: str) -> list[str]:
    """What a process of each point ends with: children of one that has imported what all of them need."""
    command = [sys.executable, "-c", _CHILD, str(folder), *points]
    env = {**os.environ, "NEWEL_DISTRIBUTION": "standard"}
    return subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, timeout=60, check=True).stdout.split()


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sessions of processes that were killed at each of the points."""
    folder = tmp_path_factory.mktemp("killed")
    assert set(_statuses(folder, *(f"{kind}{number}" for kind, number in _POINTS))) == {"9"}
    return folder


@pytest.mark.parametrize(("kind", "number"), _POINTS)
def test_a_killed_session_goes_on(kind: str, number: int, killed: Path) -> None:
    path = str(killed / f"{kind}{number}.db")

    async def whole() -> None:
        store = SqliteSessionService(path)
        session = await store.get_session(app_name="app", user_id="u", session_id="s")
        assert session is not None
        stored = [event for event in session.events if not event.error_code]
        expected = number - (kind == "append") if kind != "tool" else 2 * number
        assert len(stored) == expected
        assert not any(event.partial for event in stored)
        model = ScriptedModel(["going on"])
        agent = LlmAgent(name="root", model=model, tools=[look])
        runner = Runner(app_name="app", agent=agent, session_service=store, distribution="standard")
        message = Content(role="user", parts=[Part(text="go on")])
        run = runner.run_async(user_id="u", session_id="s", new_message=message)
        said = [event async for event in run]
        assert said[-1].content.parts[0].text == "going on"  # type: ignore[union-attr,index]
        asked = model.requests[0].contents
        calls = [part.function_call.id for content in asked for part in content.parts or () if part.function_call]
        answers = [p.function_response.id for content in asked for p in content.parts or () if p.function_response]
        assert calls == answers
        await store.close()

    asyncio.run(whole())


def test_the_matrix_covers_a_whole_turn(tmp_path: Path) -> None:
    path = str(tmp_path / "append9.db")
    assert _statuses(tmp_path, "append9") == ["0"]

    async def stored() -> list[Event]:
        store = SqliteSessionService(path)
        session = await store.get_session(app_name="app", user_id="u", session_id="s")
        await store.close()
        assert session is not None
        return list(session.events)

    events = asyncio.run(stored())
    assert len(events) == max(number for kind, number in _POINTS if kind == "append")
    assert Log(events).calls("root", None) is not None
