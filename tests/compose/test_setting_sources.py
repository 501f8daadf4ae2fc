"""Settings from the environment, from files and from `--set`: which one counts, what is told, what is never shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newel.cli.given_settings import take_settings
from newel_compose import compose, compose_once, lock_changes, setting_source, write_lock
from newel_kernel import CompositionError, ConfigurationError, PluginLoadError

TEA = """
    from pydantic import BaseModel, SecretStr, field_validator
    from newel_kernel import hookimpl

    class Settings(BaseModel, extra="forbid"):
        minutes: int = 3
        name: str = "green"
        key: SecretStr = SecretStr("")
        kinds: list[str] = []
        where: dict[str, str] = {}
        deep: dict[str, object] = {}

        @field_validator("name")
        @classmethod
        def _is_tea(cls, name):
            if "coffee" in name:
                raise ValueError(f"{name!r} is not tea")
            return name

    @hookimpl
    def register_settings():
        return Settings
"""


@pytest.fixture
def tea(site: Any, extending: Any) -> Any:
    """Composes with the plugin `tea`; returns its settings."""
    site.install("acme-tea", plugins={"tea": "fake_tea"}, fake_tea=TEA)

    def settings(body: str = "", base: Any = "standard") -> Any:
        return compose(extending(base, body)).settings["tea"]

    return settings


def test_the_environment_goes_before_the_file(tea: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEWEL_SETTINGS__TEA__MINUTES", "5")
    assert tea("settings: {tea: {minutes: 4, name: black}}").minutes == 5
    assert tea("settings: {tea: {minutes: 4, name: black}}").name == "black"


def test_set_goes_before_the_environment(tea: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEWEL_SETTINGS__TEA__MINUTES", "5")
    monkeypatch.setenv("NEWEL_SETTINGS_GIVEN", "")
    words = ["plugins", "--set", "tea.minutes=6", "why", "--set=tea.name=a=b", "--", "--set"]
    take_settings(words)
    assert words == ["plugins", "why", "--", "--set"]
    assert (tea().minutes, tea().name) == (6, "a=b")


@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), st.text(st.characters(codec="utf-8"), max_size=5)))
def test_arguments_that_are_no_settings_stay(words: dict[str, str]) -> None:
    arguments = [f"{key}={value}" for key, value in words.items()]
    before = list(arguments)
    take_settings(arguments)
    assert arguments == before


@pytest.mark.parametrize("words", [["--set"], ["--set", "x"], ["--set="], ["--set=tea=1"]])
def test_set_without_a_setting_is_refused(words: list[str]) -> None:
    with pytest.raises(ConfigurationError, match=r"--set takes PLUGIN.KEY=VALUE"):
        take_settings(words)


def test_a_file_and_a_variable_hold_a_value(tea: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text("s3cret\n")
    monkeypatch.setenv("MINUTES", "7")
    settings = tea("settings: {tea: {key: {file: key}, minutes: {env: MINUTES}, where: {file: shelf}}}")
    assert (settings.key.get_secret_value(), settings.minutes) == ("s3cret", 7)
    assert settings.where == {"file": "shelf"}  # the field takes a mapping


def test_a_file_is_next_to_the_distribution_that_names_it(tea: Any, tmp_path: Path, extending: Any) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below/key").write_text("s3cret")
    (tmp_path / "below/base.yaml").write_text("extends: standard\nsettings: {tea: {key: {file: key}}}\n")
    assert tea("settings: {tea: {minutes: 9}}", base="below/base.yaml").key.get_secret_value() == "s3cret"


def test_lists_and_mappings_are_json(tea: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEWEL_SETTINGS__TEA__KINDS", '["oolong"]')
    monkeypatch.setenv("NEWEL_SETTINGS__TEA__DEEP__DOWN", "x")
    assert (tea().kinds, tea().deep) == (["oolong"], {"down": "x"})


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("settings: {tea: {key: {file: nothing}}}", r"house.yaml: settings of 'tea': .*nothing is not a file"),
        ("settings: {tea: {key: {env: NO_SUCH}}}", "settings of 'tea': the environment variable 'NO_SUCH' is not set"),
    ],
)
def test_what_is_missing_is_named(tea: Any, body: str, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        tea(body)


@pytest.mark.parametrize(
    ("variable", "says"),
    [
        ("NEWEL_SETTINGS__TAE__MINUTES", "names the plugin 'tae', which is not installed; did you mean 'tea'?"),
        ("NEWEL_SETTINGS__TEA", "write NEWEL_SETTINGS__PLUGIN__KEY"),
        ("NEWEL_SETTINGS__TEA__MINUTE", "did you mean 'minutes'?"),
    ],
)
def test_a_misspelt_variable_is_an_error(tea: Any, monkeypatch: pytest.MonkeyPatch, variable: str, says: str) -> None:
    monkeypatch.setenv(variable, "1")
    with pytest.raises(ConfigurationError) as caught:
        tea()
    assert says in str(caught.value)


def test_an_error_names_the_place_and_never_the_value(tea: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEWEL_SETTINGS__TEA__NAME", "coffee-s3cret")
    with pytest.raises(ConfigurationError, match=r"name \(NEWEL_SETTINGS__TEA__NAME\): .*\*\*\*") as caught:
        tea()
    assert "s3cret" not in str(caught.value)


def test_each_setting_says_where_it_comes_from(tea: Any, extending: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEWEL_SETTINGS__TEA__MINUTES", "5")
    base = extending("standard", "settings: {tea: {name: black}}", name="base")
    distribution = (
        compose(extending(base, "settings: {tea: {key: {file: conftest}, kinds: []}}")).distribution
        if (base.with_name("conftest").write_text("x"))
        else None
    )
    assert distribution is not None
    sources = {key: setting_source(distribution, "tea", key) for key in ("minutes", "name", "key", "kinds", "deep")}
    assert sources == {
        "minutes": ("NEWEL_SETTINGS__TEA__MINUTES", True),
        "name": (str(base), False),
        "key": ("file conftest", True),
        "kinds": (distribution.source, False),
        "deep": ("default", False),
    }


def test_a_changed_variable_composes_again(tea: Any, extending: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(extending("standard"))
    monkeypatch.setenv("NEWEL_SETTINGS__TEA__MINUTES", "5")
    first = compose_once(path)
    assert compose_once(path) is first
    monkeypatch.delenv("NEWEL_SETTINGS__TEA__MINUTES")
    assert compose_once(path).settings["tea"].minutes == 3


def test_all_problems_of_a_file_are_one_error(tea: Any) -> None:
    with pytest.raises(CompositionError) as caught:
        tea("plugins: [nosuch, other]\nsettings: {absent: {}}\nreplace: {contents: gone}\ndisable: [away]")
    assert [name for name in ("nosuch", "other", "absent", "gone", "away") if f"'{name}'" in str(caught.value)] == [
        "nosuch",
        "other",
        "absent",
        "gone",
        "away",
    ]
    assert len(caught.value.problems) == 5


def test_all_wrong_settings_are_one_error(tea: Any) -> None:
    with pytest.raises(CompositionError) as caught:
        tea("settings: {tea: {minutes: x}, hook_timeout: {secnds: 1}, planning: {a: 1}}")
    assert len(caught.value.problems) == 3


def test_all_plugins_that_do_not_load_are_one_error(site: Any, extending: Any) -> None:
    site.install(
        "odd", plugins={"odd": "fake_odd", "even": "fake_even"}, fake_odd="import no_a", fake_even="import no_b"
    )
    with pytest.raises(PluginLoadError, match=r"(?s)'even'.*no_b.*'odd'.*no_a"):
        compose(extending("standard", "plugins: [odd, even]"))


def test_the_lock_says_what_changed(site: Any, tea: Any, extending: Any, tmp_path: Path) -> None:
    composition = compose(extending("standard", "settings: {tea: {minutes: 4}}"))
    lock = tmp_path / "newel.lock"
    write_lock(composition, lock)
    assert lock_changes(composition, lock) == []
    assert "green" not in lock.read_text()
    changed = lock_changes(compose(extending("standard", "settings: {tea: {minutes: 5}}\ndisable: [planning]")), lock)
    assert changed[:2] == ["--- newel.lock", "+++ installed"]
    assert any(line.startswith("-settings.tea.minutes: sha256:") for line in changed)
    assert any(line.startswith("-plugins.planning.version: ") for line in changed)
    assert "+choices.disable: planning" in changed


def test_a_secret_that_is_renewed_does_not_differ(
    tea: Any, extending: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = tmp_path / "newel.lock"
    monkeypatch.setenv("NEWEL_SETTINGS__TEA__KEY", "first")
    write_lock(compose(extending("standard")), lock)
    assert "first" not in lock.read_text()
    monkeypatch.setenv("NEWEL_SETTINGS__TEA__KEY", "second")
    assert lock_changes(compose(extending("standard")), lock) == []
