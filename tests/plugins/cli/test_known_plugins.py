"""`newel plugins search`: the list is right about our own packages, and the command finds what it has."""

from __future__ import annotations

import json
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from newel.cli import plugins as module
from newel.cli.known_plugins import KnownPlugin, known_plugins, missing_package
from newel.cli.plugins import GROUPS, plugins
from newel.evaluation.plugins import evaluation_composition
from newel_compose import Composition, compose
from newel_kernel import API

CONTRIB = Path(__file__).parents[3] / "contrib"
OURS = {path.parent.name: tomllib.loads(path.read_text())["project"] for path in CONTRIB.glob("*/pyproject.toml")}


def points_of(project: dict[str, Any]) -> dict[str, str]:
    return {name: target for group in GROUPS for name, target in project["entry-points"].get(group, {}).items()}


def provided(composition: Composition, before: Composition) -> dict[str, tuple[str, ...]]:
    """What a composition has more than another one, by kind."""
    found: dict[str, list[str]] = {}
    for kind, items in composition.registry.kinds():
        for name in items.keys() - before.registry.owned(kind).keys():
            found.setdefault(composition.registry.address(kind, name).partition("/")[0], []).append(name)
    return {kind: tuple(sorted(names)) for kind, names in found.items()}


def test_all_of_ours_are_on_the_list_in_order() -> None:
    names = [one.package for one in known_plugins()]
    assert names == sorted(names)
    assert {project["name"] for project in OURS.values()} <= {*names}


@pytest.mark.parametrize("name", OURS)
def test_the_list_is_right_about_ours(name: str) -> None:
    project = OURS[name]
    listed = next(one for one in known_plugins() if one.package == project["name"])
    points = points_of(project)
    assert listed.plugins == tuple(sorted(points))
    before = evaluation_composition("standard")
    objects = [import_module(target) for target in points.values()]
    after = compose(before.distribution, plugins=objects, groups=["newel.evaluation"])
    assert listed.provides == provided(after, before)


@pytest.mark.parametrize("name", OURS)
def test_ours_say_which_api_they_need(name: str) -> None:
    assert API in OURS[name]["entry-points"]["newel.api"]


def test_what_is_searched_is_found_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    found = json.loads(CliRunner().invoke(plugins, ["search", "POSTGRES", "memory"]).output)
    assert [one["package"] for one in found] == ["newel-postgres"]
    assert len(json.loads(CliRunner().invoke(plugins, ["search"]).output)) == len(known_plugins())
    monkeypatch.setattr(module, "to_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "200")
    assert "pip install newel-redis" in CliRunner().invoke(plugins, ["search", "cache"]).output
    assert "no known plugin says 'tea kettle'" in CliRunner().invoke(plugins, ["search", "tea", "kettle"]).output


def test_an_installed_one_is_shown_with_its_version(fake_packages: Any) -> None:
    fake_packages.install("newel-redis", "3.4", plugins={"redis": "fake_redis"}, fake_redis="")
    (found,) = json.loads(CliRunner().invoke(plugins, ["search", "redis"]).output)
    assert found["installed"] == "3.4"


def test_a_missing_command_names_its_package() -> None:
    assert "pip install newel-testkit" in missing_package("fake-server")
    assert missing_package("brew") == ""


def test_an_entry_has_what_a_reader_needs() -> None:
    for one in known_plugins():
        assert KnownPlugin.model_validate(one.model_dump()) == one
        assert one.summary.endswith(".")
        assert one.plugins
        assert one.provides
