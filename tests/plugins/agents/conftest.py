"""An app's folder, and a composition to read agent files with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from newel.agents.config_agent_utils import from_config
from newel_kernel import BaseTool, hookimpl
from newel.tools.kinds import ToolFactory
from newel_compose import compose
from newel_compose import Composition
from newel_compose import Distribution
from newel_kernel import AgentConfigError


class Clock(BaseTool):
    """A tool that a plugin provides."""

    def __init__(self, zone: str = "UTC") -> None:
        super().__init__(name="clock", description="Tells the time.")
        self.zone = zone


class Tools:
    """A plugin with one tool factory."""

    name = "tools_for_tests"

    @hookimpl
    def register_tool_factories(self) -> list[ToolFactory]:
        return [ToolFactory(name="clock", create=Clock)]


@pytest.fixture(scope="session")
def composition() -> Composition:
    return compose(Distribution(name="test", plugins=("agents", "function_tools")), plugins=[Tools()])


class Folder:
    """The folder `weather` of an app."""

    def __init__(self, path: Path, composition: Composition) -> None:
        self.path = path
        self.composition = composition

    def write(self, name: str, text: str) -> Path:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text), encoding="utf-8")
        return file

    def load(self, text: str, name: str = "root_agent.yaml") -> Any:
        return from_config(self.write(name, text), composition=self.composition)

    def refused(self, text: str, name: str = "root_agent.yaml") -> str:
        """The message for a wrong file, its path shortened to the file's name: ``root_agent.yaml:2: ...``."""
        with pytest.raises(AgentConfigError) as caught:
            self.load(text, name)
        message = str(caught.value)
        assert "\n" not in message
        assert message.startswith(str(self.path))
        return message.replace(f"{self.path}/", "")


@pytest.fixture
def folder(tmp_path: Path, composition: Composition) -> Folder:
    path = tmp_path / "weather"
    path.mkdir()
    return Folder(path, composition)


@pytest.fixture
def tripwire(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], bool]:
    """An importable module `tripwire` outside the app; calling the fixture says whether anything ran it."""
    mark = tmp_path / "executed"
    site = tmp_path / "site"
    site.mkdir()
    (site / "tripwire.py").write_text(
        f"import pathlib\npathlib.Path({str(mark)!r}).touch()\ndef go(): pathlib.Path({str(mark)!r}).touch()\n"
    )
    monkeypatch.syspath_prepend(str(site))
    return mark.exists
