"""Which distribution is meant: the argument, NEWEL_DISTRIBUTION, newel.yaml, [tool.newel], `standard`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from newel.artifacts.kinds import ArtifactBackend
from newel.sessions.kinds import SessionBackend
from newel_compose import Distribution, compose, compose_once, select_distribution, without_password
from newel_kernel import ConfigurationError, FeatureUnavailableError


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


@pytest.mark.parametrize("text", ["[tool]\nnewel = 'adk'\n", "[tool.newel]\n", "[tool.newel]\ndistribution = 3\n"])
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


def test_a_choice_is_composed_anew_when_its_file_has_changed() -> None:
    write("newel.yaml", "extends: minimal\nsettings: {contents: {fence_quotations: true}}\n")
    first = compose_once()
    assert compose_once() is first
    write("newel.yaml", "extends: minimal\nsettings: {contents: {fence_quotations: false}}\n")
    second = compose_once()
    assert second is not first
    assert second.settings["contents"].model_dump() == {
        "asked_answers_only": False,
        "fence_quotations": False,
        "keep_meanwhile": False,
    }
    assert compose_once() is second


def test_a_choice_is_composed_anew_when_a_plugin_was_installed(site: Any) -> None:
    first = compose_once("standard")
    site.stage("rag", after=("contents",))
    second = compose_once("standard")
    assert "rag" in [stage.name for stage in second.request_chain]
    assert "rag" not in [stage.name for stage in first.request_chain]
    assert compose_once("standard") is second


def test_a_choice_is_composed_anew_when_a_plugin_was_upgraded_or_removed(site: Any) -> None:
    site.stage("rag", after=("contents",))
    compose_once("standard")
    info = site.path / "newel_extra-1.0.dist-info"
    metadata = info / "METADATA"
    metadata.write_text(metadata.read_text().replace("Version: 1.0", "Version: 1.1"))
    upgraded = compose_once("standard")
    assert {record.source for record in upgraded.plugins if record.name == "rag"} == {"newel-extra 1.1"}
    (info / "entry_points.txt").unlink()
    assert "rag" not in [record.name for record in compose_once("standard").plugins]


def test_a_newel_yaml_that_is_not_in_utf_8_is_refused_and_a_pyproject_is_somebody_elses() -> None:
    (Path.cwd() / "pyproject.toml").write_bytes('[tool.newel]\ndistribution = "\u00e9"\n'.encode("latin-1"))
    assert selected() == "standard"
    (Path.cwd() / "newel.yaml").write_bytes("name: \u00e9".encode("latin-1"))
    with pytest.raises(ConfigurationError, match=r"newel\.yaml:1: not UTF-8 text"):
        select_distribution()


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("postgresql://ada:s3cr3t@db/x", "postgresql://ada:***@db/x"),
        ("redis://:s3cr3t@db:6379", "redis://:***@db:6379"),
        ("mysql://ada:s3@c/r3:t@db/x?ssl=1", "mysql://ada:***@db/x?ssl=1"),
        ("pg://db/x?user=ada&password=s3cr3t&a=1", "pg://db/x?user=ada&password=***&a=1"),
        ("pg://db/x?sslPassword=s3cr3t", "pg://db/x?sslPassword=***"),
        ("sqlite:////tmp/a:b@c.db", "sqlite:////tmp/a:b@c.db"),
        ("sqlite:///sessions.db", "sqlite:///sessions.db"),
        ("", ""),
    ],
)
def test_a_uri_is_shown_without_its_password(uri: str, shown: str) -> None:
    assert without_password(uri) == shown


def test_no_error_of_a_store_shows_a_password() -> None:
    composition = compose("standard")
    for kind, uri in (
        (SessionBackend, "nosuch://ada:s3cr3t@db/x"),
        (SessionBackend, "sqlite://ada:s3cr3t@db/x"),
        (SessionBackend, "sqlite://ada:s3cr3t@db"),
        (ArtifactBackend, "file://ada:s3cr3t@db/x"),
    ):
        with pytest.raises((FeatureUnavailableError, ConfigurationError)) as caught:
            composition.open_service(kind, uri)
        assert "s3cr3t" not in str(caught.value)
        assert "ada:***@db" in str(caught.value)
