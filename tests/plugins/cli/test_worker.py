"""A worker takes what a server takes, and is ready only while its stores and its engine answer."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from newel.cli.worker_readiness import WorkerReadiness
from newel.cli.worker_sources import worker_sources
from newel.engines import InlineEngine
from newel.sessions import InMemorySessionService
from newel.sessions.errors import StoreUnavailableError
from newel_compose import compose
from newel_kernel import ConfigurationError, Session, seam

_AGENT = "from newel import Agent\nfrom newel.testing import ScriptedModel\n"


def _agents(folder: Path, **names: str) -> Path:
    for place, name in names.items():
        (folder / place).mkdir(parents=True)
        text = f"{_AGENT}root_agent = Agent(name={name!r}, model=ScriptedModel([]))\n"
        (folder / place / "agent.py").write_text(text, "utf-8")
    return folder


def test_a_folder_of_agents_is_taken_by_the_names_of_folders_and_agents(tmp_path: Path) -> None:
    folder = _agents(tmp_path / "agents", shop="clerk", desk="desk")
    assert sorted(worker_sources([str(folder)], compose("standard"))) == ["clerk", "desk", "shop"]
    assert sorted(worker_sources([str(folder / "shop")], compose("standard"))) == ["clerk", "shop"]


def test_names_that_say_nothing_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = _agents(tmp_path / "agents", shop="root", desk="root")
    assert sorted(worker_sources([str(folder)], compose("standard"))) == ["desk", "shop"]
    assert "2 agents call themselves 'root'" in capsys.readouterr().err
    with pytest.raises(ConfigurationError, match="two agents are named 'shop'"):
        worker_sources([str(folder), str(folder / "shop")], compose("standard"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigurationError, match="no agent is in the folder"):
        worker_sources([str(tmp_path / "empty")], compose("standard"))
    with pytest.raises(ConfigurationError, match="there is no folder 'nothing'"):
        worker_sources(["nothing"], compose("standard"))


class Fickle(InMemorySessionService):
    """A store that fails with `error` as long as there is one."""

    error: Exception | None = None

    async def get_session(self, **where: Any) -> Session | None:
        if self.error is not None:
            raise self.error
        return await super().get_session(**where)


class FickleEngine(InlineEngine):
    """An engine that fails with `error` as long as there is one."""

    error: Exception | None = None

    async def record(self, key: str) -> Any:
        if self.error is not None:
            raise self.error
        return await super().record(key)


def test_readiness_looks_at_the_stores_and_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(seam, "monotonic", lambda: now)

    async def main() -> None:
        nonlocal now
        store, engine = Fickle(), FickleEngine()
        readiness = WorkerReadiness(engine, [store, store])
        assert await readiness.look() is None
        store.error = StoreUnavailableError("the database is away", retry_after=1)
        assert await readiness.look() is None  # a look holds for a moment
        now = 10.0
        assert await readiness.look() == "the database is away"
        store.error, engine.error = None, RuntimeError("password=hunter2")
        now = 20.0
        assert await readiness.look() == "the engine cannot be reached: RuntimeError"
        engine.error = None
        now = 30.0
        assert await readiness.look() is None

    asyncio.run(main())
