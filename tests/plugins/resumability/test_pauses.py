"""Every kind of agent around every other one: paused for the user, resumed in new processes, no tool run twice."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from kinds import CONFIRM, PAIRS, expected, file_effect, make_runner, send

from newel.sessions import SqliteSessionService
from newel_kernel import Session

HERE = Path(__file__).parent
MOST_PAUSES = 4  # a loop of two rounds within one


def stage(folder: Path) -> int:
    """One process; how many invocations wait after it."""
    done = subprocess.run(
        [sys.executable, str(HERE / "stage.py"), str(folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the processes have left their sessions and the traces of their tools."""
    folder = tmp_path_factory.mktemp("pauses")
    waiting = [stage(folder) for _ in range(MOST_PAUSES + 1)]
    assert waiting[0] == len(PAIRS), "every pair pauses"
    assert waiting[-1] == 0, f"{waiting} wait after each process"
    return folder


def load(folder: Path, session_id: str) -> Session:
    async def main() -> Session:
        async with SqliteSessionService(str(folder / "sessions.db")) as store:
            found = await store.list_sessions(app_name="app", user_id="ada")
            assert len(found.sessions) == len(PAIRS), "the sessions of agents that worked as tools are gone"
            session = await store.get_session(app_name="app", user_id="ada", session_id=session_id)
            assert session is not None
            return session

    return asyncio.run(main())


@pytest.mark.parametrize(("outer", "inner"), PAIRS)
def test_a_paused_invocation_goes_on_in_a_new_process(outer: str, inner: str, folder: Path) -> None:
    runs = [line.split() for line in (folder / "effects").read_text("utf-8").splitlines()]
    runs = [run[1:] for run in runs if run[0] == f"{outer}-{inner}"]
    assert Counter(tool for tool, _ in runs) == expected(outer, inner)
    assert all(count == 1 for count in Counter(call for _, call in runs).values()), "a tool ran twice for one call"

    events = load(folder, f"{outer}-{inner}").events
    assert len({event.invocation_id for event in events}) == 1
    assert events[-1].author == ("outer_last" if outer == "graph" else "outer")  # a graph leaves no note of its end
    assert events[-1].actions.end_of_agent
    calls = {call.id for event in events for call in event.get_function_calls()}
    assert calls == {response.id for event in events for response in event.get_function_responses()}
    asked = {c.id: e.branch for e in events for c in e.get_function_calls() if c.name == CONFIRM}
    answered = {r.id: e.branch for e in events if e.author == "user" for r in e.get_function_responses()}
    assert answered == asked


@pytest.mark.parametrize(("outer", "inner"), PAIRS)
def test_a_finished_invocation_returns_at_once(outer: str, inner: str, folder: Path, tmp_path: Path) -> None:
    session_id = f"{outer}-{inner}"

    async def main() -> None:
        async with SqliteSessionService(str(folder / "sessions.db")) as store:
            runner = make_runner(outer, inner, store, file_effect(tmp_path / "effects", ""), "standard")
            session = await store.get_session(app_name="app", user_id="ada", session_id=session_id)
            assert session is not None
            assert await send(runner, session_id, invocation_id=session.events[0].invocation_id) == []

    asyncio.run(main())
    assert not (tmp_path / "effects").exists()
