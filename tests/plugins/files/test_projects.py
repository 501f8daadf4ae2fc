"""A dotted name in an agent file means what Python means by it, in the project that the file is in."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from newel.files import load_agent
from newel_compose import Composition
from newel_kernel import AgentConfigError


class Project:
    """A project with a package `shop_project`, and agent files in `conf`."""

    def __init__(self, root: Path, composition: Composition) -> None:
        self.root = root
        self.composition = composition
        self.write("pyproject.toml", "[project]\nname = 'shop'\n")
        self.write("shop_project/__init__.py", "")
        self.write("shop_project/tools.py", "calls = []\ndef f(): calls.append(1)\n")
        self.write("shop_project/agents/__init__.py", "")
        self.write(
            "shop_project/agents/code.py",
            """
            from newel import Agent
            from shop_project.tools import f

            code_agent = Agent(name="coder", tools=[f])
        """,
        )

    def write(self, name: str, text: str) -> Path:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text))
        return file

    def load(self, text: str, name: str = "conf/root_agent.yaml") -> Any:
        return load_agent(self.write(name, text), composition=self.composition)

    def refused(self, text: str, name: str = "conf/root_agent.yaml") -> str:
        with pytest.raises(AgentConfigError) as caught:
            self.load(text, name)
        return str(caught.value)


@pytest.fixture
def shop(tmp_path: Path, composition: Composition, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    root = tmp_path / "shop"
    root.mkdir()
    before = set(sys.modules)
    yield Project(root, composition)
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("shop_project", "agents", "helpers", "outside") or name.startswith("shop_"):
            del sys.modules[name]


@pytest.fixture
def found(shop: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """The project, on sys.path."""
    monkeypatch.syspath_prepend(str(shop.root))
    return shop


def test_a_package_of_the_project_is_imported_once(found: Project) -> None:
    code = "shop_project.agents.code.code_agent"
    agent = found.load(f"name: a\ntools: [shop_project.tools.f]\nsub_agents: [{{code: {code}}}]\n")
    tools = importlib.import_module("shop_project.tools")
    assert agent.tools[0] is tools.f
    assert agent.sub_agents[0] is importlib.import_module("shop_project.agents.code").code_agent
    assert agent.sub_agents[0].tools[0] is tools.f


def test_an_agent_file_inside_a_package_names_its_neighbours_by_their_whole_names(found: Project) -> None:
    agent = found.load("name: a\nsub_agents: [{code: code.code_agent}]\n", "shop_project/agents/root_agent.yaml")
    assert agent.sub_agents[0] is importlib.import_module("shop_project.agents.code").code_agent
    assert "agents.code" not in sys.modules


def test_a_package_that_python_does_not_find_is_one_of_its_own(shop: Project) -> None:
    shop.write("shop_project/plain.py", "def g(): ...\n")
    (tool,) = shop.load("name: a\ntools: [shop_project.plain.g]\n").tools
    assert tool.__module__.endswith(".shop_project.plain")
    assert "shop_project" not in sys.modules


def test_a_module_at_the_top_of_the_project(found: Project) -> None:
    found.write("helpers.py", "def h(): ...\n")
    (tool,) = found.load("name: a\ntools: [helpers.h]\n").tools
    assert tool is importlib.import_module("helpers").h


def test_a_module_of_the_folder_that_the_program_has_imported(found: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    found.write("conf/helpers.py", "def h(): ...\n")
    monkeypatch.syspath_prepend(str(found.root / "conf"))
    imported = importlib.import_module("helpers")
    assert found.load("name: a\ntools: [helpers.h]\n").tools == [imported.h]


def test_the_folder_s_own_modules_go_first(found: Project) -> None:
    found.write("helpers.py", "def h(): return 'project'\n")
    found.write("conf/helpers.py", "def h(): return 'folder'\n")
    assert found.load("name: a\ntools: [helpers.h]\n").tools[0]() == "folder"


def test_modules_of_a_source_layout(shop: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.write("src/shop_source/tools.py", "def f(): ...\n")
    shop.write("src/shop_source/__init__.py", "")
    monkeypatch.syspath_prepend(str(shop.root / "src"))
    (tool,) = shop.load("name: a\ntools: [shop_source.tools.f]\n").tools
    assert tool.__module__ == "shop_source.tools"


def test_the_working_directory_is_the_project_where_nothing_marks_one(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shop.root / "pyproject.toml").unlink()
    assert "'shop_project.tools.f' is not allowed here" in shop.refused("name: a\ntools: [shop_project.tools.f]\n")
    monkeypatch.chdir(shop.root)
    assert shop.load("name: a\ntools: [shop_project.tools.f]\n").tools[0].__name__ == "f"


@pytest.mark.parametrize("place", [".venv/lib/python3/site-packages", "venv/lib/site-packages", ".hidden"])
def test_what_is_installed_in_the_project_is_not_its_own(
    shop: Project, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    shop.write(f"{place}/outside/__init__.py", "raise RuntimeError('imported')\ndef go(): ...\n")
    monkeypatch.syspath_prepend(str(shop.root / place))
    assert "'outside.go' is not allowed here" in shop.refused("name: a\ntools: [outside.go]\n")
    assert "outside" not in sys.modules


@pytest.mark.parametrize("name", ["os.system", "json.loads", "outside.go", "yaml.load", "newel.tools.exit_loop"])
def test_what_is_outside_of_the_project_stays_outside(
    found: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "outside.py").write_text("def go(): ...\n")
    monkeypatch.syspath_prepend(str(tmp_path / "elsewhere"))
    assert f"{name!r} is not allowed here" in found.refused(f"name: a\ntools: [{name}]\n")
    assert "outside" not in sys.modules


def test_what_a_module_of_the_project_merely_imports_is_not_its_own(found: Project) -> None:
    found.write("shop_project/more.py", "from os import system\nfrom shop_project.tools import f\n")
    assert "comes from" in found.refused("name: a\ntools: [shop_project.more.system]\n")
    assert found.load("name: a\ntools: [shop_project.more.f]\n").tools[0].__module__ == "shop_project.tools"


def test_a_misspelt_module_gets_a_suggestion(found: Project) -> None:
    assert "did you mean 'shop_project'?" in found.refused("name: a\ntools: [shop_projct.tools.f]\n")


def test_the_command_line_finds_the_project(shop: Project) -> None:
    shop.write("conf/root_agent.yaml", "name: a\nsub_agents: [{code: shop_project.agents.code.code_agent}]\n")
    command = [sys.executable, "-m", "newel.cli.main", "graph", "conf", "--format", "mermaid"]
    done = subprocess.run(command, cwd=shop.root, capture_output=True, text=True, env=os.environ, timeout=60)
    assert "coder" in done.stdout, done.stderr
