"""Which distribution is meant: the argument, NEWEL_DISTRIBUTION, newel.yaml, [tool.newel], `standard`."""

from __future__ import annotations

from pathlib import Path

import pytest

from newel_compose import Distribution
from newel_kernel import ConfigurationError
from newel_compose import compose, compose_once
from newel_compose import select_distribution


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NEWEL_DISTRIBUTION", raising=False)
    monkeypatch.chdir(tmp_path)


def write(name: str, text: str) -> Path:
    path = Path.cwd() / name
    path.write_text(text, encoding="utf-8")
    return path


def selected() -> str:
    return select_distribution()[0].name


def everything_says_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    write("pyproject.toml", '[tool.newel]\ndistribution = "minimal"\n')
    write("newel.yaml", "name: from-file\nextends: minimal\n")
    write("env.yaml", "name: from-env\n")
    monkeypatch.setenv("NEWEL_DISTRIBUTION", "env.yaml")


def test_each_place_comes_before_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    everything_says_something_else(monkeypatch)
    assert select_distribution("adk")[0].name == "adk"
    assert select_distribution(write("mine.yaml", "name: mine\n"))[0].name == "mine"
    assert selected() == "from-env"
    monkeypatch.delenv("NEWEL_DISTRIBUTION")
    assert selected() == "from-file"
    Path("newel.yaml").unlink()
    assert selected() == "minimal"
    Path("pyproject.toml").unlink()
    assert selected() == "standard"


def test_an_object_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    everything_says_something_else(monkeypatch)
    mine = Distribution(name="mine")
    assert select_distribution(mine) == (mine, None)


def test_the_environment_may_name_a_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEWEL_DISTRIBUTION", "adk")
    assert selected() == "adk"
    monkeypatch.setenv("NEWEL_DISTRIBUTION", "")
    assert selected() == "standard"
    monkeypatch.setenv("NEWEL_DISTRIBUTION", "akd")
    with pytest.raises(ConfigurationError, match="unknown distribution 'akd'; did you mean 'adk'"):
        selected()


def test_the_project_may_point_to_a_file() -> None:
    write("house.yaml", "name: house\n")
    write("pyproject.toml", '[tool.newel]\ndistribution = "house.yaml"\n')
    assert selected() == "house"


@pytest.mark.parametrize("text", ["[tool.other]\nx = 1\n", "[project]\nname = 'x'\n", "this is = = no toml"])
def test_a_project_that_says_nothing_is_passed_over(text: str) -> None:
    write("pyproject.toml", text)
    assert selected() == "standard"


@pytest.mark.parametrize(
    "text", ["[tool]\nnewel = 'adk'\n", "[tool.newel]\n", "[tool.newel]\ndistribution = 3\n"]
)
def test_a_project_that_says_it_wrongly_is_refused(text: str) -> None:
    write("pyproject.toml", text)
    with pytest.raises(ConfigurationError, match=r"pyproject.toml: \[tool.newel\] needs distribution"):
        selected()


def test_a_lock_binds_what_the_folder_chooses_but_not_an_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    lock = write("newel.lock", "{}")
    assert select_distribution()[1] == lock
    monkeypatch.setenv("NEWEL_DISTRIBUTION", "adk")
    assert select_distribution()[1] == lock
    assert select_distribution("adk")[1] is None


def test_a_choice_is_composed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEWEL_DISTRIBUTION", "minimal")
    assert compose_once() is compose_once("minimal")
    assert compose_once() is not compose_once("adk")
    assert compose("minimal") is not compose("minimal")
