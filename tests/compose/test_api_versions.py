"""A plugin written for another API is left out by name, with the remedy; what it uses that goes is told."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import newel
import newel_kernel
from newel.cli.doctor import doctor
from newel.cli.plugins import plugins
from newel_compose import compose, installed_points
from newel_compose._internal import discovery, package_files
from newel_compose._internal.api_versions import unmet_api
from newel_kernel import API, PluginLoadError, hookimpl, lifecycle_hookspecs
from newel_types import ApiDeprecationWarning, lazy_exports

MAJOR, MINOR = map(int, API.split("."))
NEWER = [f"{MAJOR}.{MINOR + 1}", f"{MAJOR + 1}.0"]
OTHERS = {
    **{one: f"needs newel's API {one}, but this newel has {API}; pip install -U newel" for one in NEWER},
    f"{MAJOR - 1}.7": f"was written for newel's API {MAJOR - 1}.7, and this newel has {API}; pip install -U newel-odd",
    "latest": f"names the version 'latest' of newel's API, which is not two numbers such as {API}",
}
versions = st.tuples(st.integers(0, 3), st.integers(0, 3))


def text(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def record_of(name: str = "odd") -> Any:
    return next(record for record in compose("standard").plugins if record.name == name)


@given(st.lists(versions, max_size=3), versions)
def test_a_version_fits_as_semantic_versioning_says(written: list[tuple[int, int]], here: tuple[int, int]) -> None:
    fits = not written or any(one[0] == here[0] and one[1] <= here[1] for one in written)
    assert (unmet_api(map(text, written), "newel-odd", text(here)) == "") is fits


@given(st.lists(st.text(max_size=12), max_size=3))
def test_any_text_can_be_read(written: list[str]) -> None:
    assert isinstance(unmet_api(written, "newel-odd"), str)


def test_there_is_one_version() -> None:
    assert newel.API == newel_kernel.API == API


def test_what_is_written_for_this_api_takes_part(site: Any) -> None:
    site.install("newel-odd", plugins={"odd": "fake_odd"}, api=f"{MAJOR}.0", fake_odd="")
    assert record_of().state == "enabled"


@pytest.mark.parametrize("written", OTHERS)
def test_what_is_written_for_another_api_is_left_out_by_name(site: Any, written: str) -> None:
    site.install("newel-odd", plugins={"odd": "fake_odd"}, api=written, fake_odd="raise SystemError('imported')")
    record = record_of()
    assert record.state == "failed"
    assert OTHERS[written] in record.why


@pytest.mark.parametrize("body", ["plugins: [odd]", "settings: {odd: {}}", "replace: {planning: odd}"])
def test_a_configured_plugin_for_another_api_stops(site: Any, extending: Any, body: str) -> None:
    site.install("newel-odd", plugins={"odd": "fake_odd"}, api=NEWER[0], fake_odd="")
    with pytest.raises(PluginLoadError, match=r"the plugin 'odd' .*pip install -U newel"):
        compose(extending("standard", body))


def test_doctor_and_why_tell_what_is_unmet(site: Any) -> None:
    site.install(
        "newel-odd",
        plugins={"odd": "fake_odd"},
        api=NEWER[0],
        metadata="Requires-Dist: no-such-sdk>=2\n",
        fake_odd="",
    )
    told = CliRunner().invoke(plugins, ["why", "odd"]).output + CliRunner().invoke(doctor, []).output
    assert told.count(f"needs newel's API {NEWER[0]}") == 2
    assert told.count("needs no-such-sdk>=2, which is not installed") == 2


# --- what is deprecated -----------------------------------------------------------------------------------------------

REMEDY = "since API 1.3, gone in API 2.0; use newel_kernel.Event"
USER = """
    from old_newel import Old
    from newel_kernel import hookimpl

    @hookimpl
    def register_greetings():
        return []
"""
OWNER = f"""
    from dataclasses import dataclass
    from typing_extensions import deprecated
    from newel_kernel import Descriptor, Kind, hookimpl, hookspec

    class Greeting(Descriptor):
        pass

    @hookspec
    @deprecated({REMEDY!r}, category=None)
    def register_greetings(settings):
        return ()

    @hookimpl
    def register_kinds():
        return [Kind(Greeting, register_greetings)]
"""


@pytest.fixture
def user(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin that uses a deprecated name and a deprecated hook."""
    old = ModuleType("old_newel")
    old.__dict__["__getattr__"], _ = lazy_exports("old_newel", {"Old": "newel_kernel:Event"}, {"Old": REMEDY})
    monkeypatch.setitem(sys.modules, "old_newel", old)
    monkeypatch.delitem(discovery.deprecated_uses, "user", raising=False)
    site.install("newel-user", plugins={"user": "fake_user"}, fake_user=USER)
    site.install("newel-owner", plugins={"owner": "fake_owner"}, fake_owner=OWNER)


def test_a_warning_names_the_plugin_and_what_it_uses(user: None) -> None:
    with pytest.warns(ApiDeprecationWarning) as caught:
        record = record_of("user")
    (warning,) = caught
    assert str(warning.message) == (
        "the plugin 'user' (newel-user 1.0) uses old_newel.Old, which is deprecated: "
        f"{REMEDY}; it implements register_greetings, which is deprecated: {REMEDY}"
    )
    assert record.state == "enabled"
    assert len(record.deprecated) == 2


def test_a_lifecycle_hook_is_deprecated_in_the_same_way(monkeypatch: pytest.MonkeyPatch) -> None:
    class Meter:
        name = "meter"

        @hookimpl
        def before_run_callback(self, invocation_context: Any) -> None: ...

    monkeypatch.setattr(lifecycle_hookspecs.before_run_callback, "__deprecated__", REMEDY, raising=False)
    with pytest.warns(ApiDeprecationWarning, match=f"'meter' .* implements before_run_callback, .*{REMEDY}"):
        compose("minimal", plugins=[Meter()])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_doctor_and_why_tell_what_is_deprecated(user: None) -> None:
    said = CliRunner().invoke(doctor, []).output
    assert len(json.loads(said)["deprecated"]) == 2
    assert len(json.loads(CliRunner().invoke(plugins, ["why", "user"]).output)["deprecated"]) == 2


def test_where_warnings_are_errors_the_plugin_is_left_out(user: None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert record_of("user").state == "left out"
        assert record_of("owner").state == "enabled"


def test_code_that_no_host_watches_is_warned_itself() -> None:
    get, _ = lazy_exports("old_newel", {"Old": "newel_kernel:Event"}, {"Old": REMEDY})
    with pytest.warns(ApiDeprecationWarning, match=r"uses old_newel\.Old") as caught:
        get("Old")
    assert Path(caught[0].filename) == Path(__file__)


# --- a package of our name --------------------------------------------------------------------------------------------


def test_a_package_that_takes_our_name_takes_no_place(site: Any, caplog: pytest.LogCaptureFixture) -> None:
    before = compose("standard")
    site.install(
        "newel",
        "99.0",
        plugins={"contents": "fake_thief"},
        distributions={"standard": "fake_thief"},
        fake_thief="raise SystemError('imported')",
    )
    package_files._reported.clear()
    after = compose("standard")
    assert [one.stage.name for one in after.placed["request_chain"]] == [p.name for p in before.request_chain]
    assert {point.version for point in installed_points() if point.distribution == "newel"} == {newel.__version__}
    assert "newel-99.0.dist-info is skipped: it is called newel, and is another package" in caplog.text
