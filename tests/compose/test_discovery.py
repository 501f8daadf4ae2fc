"""Discovery: installed plugins and distributions, found at once, loaded loudly."""

from __future__ import annotations

import importlib
import os
import sys
from importlib.metadata import distributions
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newel.tools.kinds import ToolFactory
from newel_compose import compose, load, place_of, select_distribution
from newel_compose._internal import discovery
from newel_compose._internal.discovery import installed, scan, unknown_plugins
from newel_compose._internal.shipped import distribution_files
from newel_kernel import CompositionError, ConfigurationError, PluginLoadError

AUTOLOAD = "autoload: true\nplugins: [basic]"


def states(composition: Any) -> dict[str, str]:
    return {record.name: record.state for record in composition.plugins}


def test_the_built_in_plugins_are_installed() -> None:
    found = installed()
    assert list(found) == sorted(found)
    assert found["contents"].target == "newel.flows.contents"
    assert found["contents"].source == "newel 0.1.0"


def test_a_plugin_is_seen_as_soon_as_it_is_installed(site: Any) -> None:
    for number in range(4):  # a cache that looks at times would miss one within two minutes
        site.stage(f"fresh{number}", distribution=f"fresh-{number}", after=("contents",))
        chain = [stage.name for stage in compose("standard").request_chain]
        assert [name for name in chain if name.startswith("fresh")] == [f"fresh{n}" for n in range(number + 1)]
        assert installed()[f"fresh{number}"].source == f"fresh-{number} 1.0"


def test_a_plugin_is_not_imported_unless_it_takes_part(site: Any) -> None:
    site.stage("rag", after=("contents",))
    assert states(compose("adk"))["rag"] == "available"
    assert "fake_rag" not in sys.modules
    assert states(compose("standard"))["rag"] == "enabled"
    assert "fake_rag" in sys.modules


def test_a_disabled_plugin_is_not_imported(site: Any, extending: Any) -> None:
    site.install("broken", plugins={"bomb": "fake_bomb"}, fake_bomb="raise RuntimeError('boom')")
    composed = compose(extending("standard", "disable: [bomb]"))
    assert states(composed)["bomb"] == "disabled"


def test_one_name_from_two_distributions_that_the_runtime_needs_is_refused_with_both(site: Any, extending: Any) -> None:
    site.install("first", "1.0", plugins={"rag": "fake_a"}, fake_a="")
    site.install("second", "2.0", plugins={"rag": "fake_b"}, fake_b="")
    with pytest.raises(CompositionError) as caught:
        compose(extending("minimal", "plugins: [rag]"))
    assert caught.value.problems == (
        "the plugin 'rag' is installed twice, by first 1.0 and by second 2.0; uninstall one of them",
    )


def test_a_distribution_that_is_on_the_path_twice_counts_once(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    site.stage("rag", after=("contents",))
    monkeypatch.syspath_prepend(str(site.path))
    assert [s.name for s in compose("standard").request_chain].count("rag") == 1


def test_of_two_releases_on_the_path_the_first_counts(
    site: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = tmp_path / "older" / "newel_extra-0.1.dist-info"
    older.mkdir(parents=True)
    (older / "METADATA").write_text("Metadata-Version: 2.1\nName: newel_extra\nVersion: 0.1\n")
    (older / "entry_points.txt").write_text("[newel.plugins]\nrag = fake_old\ngone = fake_old\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(older.parent)])
    assert installed()["gone"].source == "newel_extra 0.1"
    site.stage("rag", after=("contents",))
    assert installed()["rag"].source == "newel-extra 1.0"
    assert "gone" not in installed()


def test_a_distribution_without_a_name_still_counts(site: Any) -> None:
    site.install("nameless", plugins={"rag": "fake_rag"})
    (site.path / "nameless-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\n")
    assert installed()["rag"].source == "nameless 1.0"  # as its folder says


@pytest.mark.parametrize(
    ("source", "cause", "words"),
    [
        ("raise RuntimeError('boom')", RuntimeError, "RuntimeError: boom"),
        ("import no_such_sdk", ModuleNotFoundError, "No module named 'no_such_sdk'"),
        ("def broken(:", SyntaxError, "SyntaxError"),
        ("assert False, 'a check'", ImportError, "AssertionError: a check"),
        ("raise SystemExit(3)", ImportError, "SystemExit: 3"),
        ("raise ConnectionError", ConnectionError, "ConnectionError"),
    ],
)
class TestAPluginThatDoesNotImport:
    def install(self, site: Any, source: str) -> None:
        site.install("newel-bomb", "2.1", plugins={"bomb": "fake_bomb"}, fake_bomb=source)

    def test_stops_the_composition_that_names_it(
        self, site: Any, extending: Any, source: str, cause: type[Exception], words: str
    ) -> None:
        self.install(site, source)
        with pytest.raises(PluginLoadError) as caught:
            compose(extending("adk", "plugins: [bomb]"))
        message = str(caught.value)
        assert message.startswith("the plugin 'bomb' (newel-bomb 2.1, fake_bomb) failed to load: ")
        assert words in message
        assert "`disable:`" in message
        assert isinstance(caught.value.__cause__, cause)

    def test_is_reported_and_left_out_where_it_is_only_installed(
        self, site: Any, source: str, cause: type[Exception], words: str
    ) -> None:
        self.install(site, source)
        site.stage("rag", after=("contents",))
        composed = compose("standard")
        (record,) = (record for record in composed.plugins if record.name == "bomb")
        assert (record.state, record.source, record.hooks) == ("failed", "newel-bomb 2.1", ())
        assert record.why.startswith("failed to load: ")
        assert words in record.why
        assert "rag" in [stage.name for stage in composed.request_chain]


def test_an_entry_point_without_its_module_or_attribute_fails_to_load(site: Any, extending: Any) -> None:
    site.install("holes", plugins={"gone": "no_such_module", "half": "fake_half:missing"}, fake_half="")
    assert {name: state for name, state in states(compose("standard")).items() if state == "failed"} == {
        "gone": "failed",
        "half": "failed",
    }
    with pytest.raises(PluginLoadError, match=r"half.*missing"):
        compose(extending("adk", "plugins: [half]"))


def test_an_entry_point_may_be_an_object(site: Any, extending: Any) -> None:
    site.install(
        "objects",
        plugins={"thing": "fake_thing:plugin"},
        fake_thing="""
            from newel.tools.kinds import ToolFactory
            from newel_kernel import hookimpl

            class Plugin:
                @hookimpl
                def register_tool_factories(self):
                    return [ToolFactory(name="speed", create=dict)]

            plugin = Plugin()
            """,
    )
    composed = compose(extending("minimal", "plugins: [thing]"))
    assert composed.registry.find(ToolFactory, "speed").create is dict
    assert composed.registry.owned(ToolFactory)["speed"].plugin == "thing"


def test_every_missing_name_is_listed_with_a_hint(extending: Any) -> None:
    path = extending("adk", "plugins: [plannning, rag]")
    with pytest.raises(CompositionError) as caught:
        compose(path)
    assert caught.value.problems == (
        f"{path} names the plugin 'plannning', which is not installed; did you mean 'planning'?",
        f"{path} names the plugin 'rag', which is not installed",
    )


def test_load_says_of_each_name_what_became_of_it(site: Any) -> None:
    site.install("mixed", plugins={"good": "fake_good", "bad": "fake_bad"}, fake_good="x = 1", fake_bad="1 / 0")
    loaded, failures = load(["bad", "missing", "good"])
    assert {name: plugin.x for name, plugin in loaded.items()} == {"good": 1}
    assert {name: type(error) for name, error in failures.items()} == {
        "bad": ZeroDivisionError,
        "missing": LookupError,
    }


def test_names_that_are_installed_pass() -> None:
    assert not unknown_plugins(["contents"], installed(), "x", scan())


def package(site: Any, name: str, **files: str) -> None:
    folder = site.path / name
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    for file, text in files.items():
        (folder / f"{file}.yaml").write_text(text)


def test_an_installed_package_may_ship_distributions(site: Any) -> None:
    package(site, "fake_house", house="extends: minimal\n")
    site.install("house", distributions={"house": "fake_house", "without_file": "fake_house"})
    assert {"adk", "minimal", "standard", "house"} == set(distribution_files())
    assert compose("house").distribution.extends == "minimal"


def test_a_distribution_that_two_packages_ship_stops_only_those_who_ask_for_it(
    site: Any, caplog: pytest.LogCaptureFixture
) -> None:
    package(site, "fake_house", shared="extends: minimal\n")
    package(site, "fake_home", shared="extends: adk\n")
    site.install("house", distributions={"shared": "fake_house"})
    site.install("home", distributions={"shared": "fake_home"})
    assert select_distribution("minimal")[0].name == "minimal"
    assert sorted(record.getMessage() for record in caplog.records) == [
        "newel: the distribution 'shared' (home 1.0) is left out: house 1.0 has one of that name, too; uninstall home",
        "newel: the distribution 'shared' (house 1.0) is left out: home 1.0 has one of that name, too; uninstall house",
    ]
    with pytest.raises(ConfigurationError, match="unknown distribution 'shared'"):
        select_distribution("shared")


@pytest.mark.parametrize("value", ["no_such_package", "no_such_package.inside", "newel.errors"])
def test_a_distribution_without_its_package_is_unknown_and_harms_no_other(site: Any, value: str) -> None:
    site.install("ghost", distributions={"ghost": value})
    assert compose("minimal").distribution.name == "minimal"
    with pytest.raises(ConfigurationError, match="unknown distribution 'ghost'"):
        compose("ghost")


def test_the_files_of_the_built_in_distributions_exist() -> None:
    assert all(isinstance(path, Path) and path.is_file() for path in distribution_files().values())


class TestScans:
    """Files are read again where one of them, or the path, has changed: and only there."""

    def package(self, folder: Path, name: str, version: str, point: str | None) -> Path:
        info = folder / f"{name}.dist-info"
        info.mkdir(parents=True, exist_ok=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        points, text = info / "entry_points.txt", f"[newel.plugins]\n{point} = fake_{name}\n"
        if point is not None and not (points.exists() and points.read_text() == text):
            points.write_text(text)
        return info

    def test_a_scan_of_what_has_not_changed_reads_nothing(self, site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(discovery, "_SETTLED", 0)
        info = self.package(site.path, "extra", "1.0", "rag")
        assert scan() is scan()
        (info / "entry_points.txt").unlink()
        assert "rag" not in installed(scan())

    def test_a_file_that_changed_just_now_is_read_each_time(self, site: Any) -> None:
        self.package(site.path, "extra", "1.0", "rag")  # its next change may be stamped with the same time
        assert scan() is not scan()

    def test_a_group_that_is_asked_for_is_read(self, site: Any) -> None:
        site.install("extra", plugins={"rag": "fake_rag"})
        assert "other.group" not in scan()
        assert "other.group" in scan(["other.group"])
        assert "other.group" not in scan()

    @given(
        st.lists(
            st.tuples(
                st.sampled_from(["a", "b"]),
                st.sampled_from(["one", "two"]),
                st.sampled_from(["1.0", "2.0", None]),
                st.sampled_from(["p", "q", None]),
                st.booleans(),
            ),
            max_size=8,
        )
    )
    def test_a_scan_says_what_reading_all_anew_says(self, steps: list[tuple[str, str, str | None, Any, bool]]) -> None:
        ticks = count(1)
        with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as name:
            patch.setattr(discovery, "_SETTLED", 0)
            folders = [Path(name) / "one", Path(name) / "two"]
            for folder in folders:
                folder.mkdir()
                patch.syspath_prepend(str(folder))
            for package, where, version, point, swapped in steps:
                info = Path(name) / where / f"{package}.dist-info"
                before = {file: file.read_text() for file in info.iterdir()} if info.exists() else {}
                if version is not None:
                    self.package(info.parent, package, version, point)
                elif info.exists():
                    for file in info.iterdir():
                        file.unlink()
                    info.rmdir()
                files = info.iterdir() if info.exists() else ()
                for changed in (info.parent, *(file for file in files if before.get(file) != file.read_text())):
                    moment = next(ticks) * 10**9  # each change in a second of its own
                    os.utime(changed, ns=(moment, moment))
                if swapped:
                    sys.path[0], sys.path[1] = sys.path[1], sys.path[0]
                assert scan() == discovery._read(list(distributions()), ())


def test_an_error_is_placed_in_the_code_that_a_runtime_called_whatever_the_runtime_is_called(site: Any) -> None:
    package = site.path / "site-packages"
    for name, hides in (("fake_runtime", "__tracebackhide__ = True"), ("fake_library", "")):
        (package / name).mkdir(parents=True)
        (package / name / "__init__.py").write_text(f"{hides}\ndef call(f):\n    return f()\n")
    (package / "fake_mine").mkdir()
    (package / "fake_mine" / "__init__.py").write_text("def fail():\n    raise ValueError('boom')\n")
    sys.path.insert(0, str(package))
    try:
        runtime, library, mine = map(importlib.import_module, ("fake_runtime", "fake_library", "fake_mine"))
    finally:
        sys.path.remove(str(package))
    for caller, place in ((runtime, " (__init__.py:2 in fail)"), (library, " (__init__.py:3 in call)")):
        with pytest.raises(ValueError, match="boom") as caught:
            caller.call(mine.fail)
        assert caught.tb.tb_next is not None
        assert place_of(caught.value.with_traceback(caught.tb.tb_next)) == place  # without the frame of this test
