"""A plugin whose package lacks what it needs is left out by name, with the remedy; a configured one stops."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet

from newel_compose import compose
from newel_compose._internal.requirements import fits, unmet
from newel_kernel import PluginLoadError

releases = st.lists(st.integers(0, 3), min_size=1, max_size=3).map(lambda parts: ".".join(map(str, parts)))
plain = st.builds("{}{}".format, st.sampled_from(["==", "!=", "<=", ">=", "<", ">"]), releases)
wild = st.builds("{}{}.*".format, st.sampled_from(["==", "!="]), releases)
near = st.builds("~={}.{}".format, st.integers(0, 3), releases)
conditions = st.lists(st.one_of(plain, wild, near), max_size=3).map(",".join)


@given(releases, conditions)
def test_releases_fit_as_packaging_says(release: str, condition: str) -> None:
    assert fits(release, condition) is SpecifierSet(condition).contains(release)


@given(st.text(max_size=60), st.text(max_size=10))
def test_any_text_can_be_read(requirement: str, version: str) -> None:
    assert isinstance(list(unmet([f"Requires-Dist: {requirement}"], lambda name: version)), list)


UNMET = {
    "pydantic>=99": r"needs pydantic>=99, but [0-9.]+ is installed; pip install 'pydantic>=99'",
    "pydantic (<1)": r"needs pydantic<1, but [0-9.]+ is installed; pip install 'pydantic<1'",
    "no-such-sdk": "needs no-such-sdk, which is not installed; pip install 'no-such-sdk'",
    "no_such.sdk[fast]~=2.0": "needs no_such.sdk~=2.0, which is not installed; pip install 'no_such.sdk~=2.0'",
}
MET = ["pydantic", "Pydantic>=2", "no-such-sdk; extra == 'fast'", "no-such-sdk ; sys_platform == 'beos'", "(((", ""]


def install(site: Any, *requirements: str) -> None:
    site.install("newel-odd", "2.1", plugins={"odd": "fake_odd"}, fake_odd="raise SystemError('imported')")
    metadata = site.path / "newel_odd-2.1.dist-info" / "METADATA"
    lines = "".join(f"Requires-Dist: {one}\n" for one in requirements)
    metadata.write_text(metadata.read_text().rstrip() + f"\n{lines}\nRequires-Dist: in-the-description\n")


@pytest.mark.parametrize("requirement", UNMET)
def test_an_unmet_requirement_leaves_a_plugin_out_by_name(site: Any, requirement: str) -> None:
    install(site, "pydantic", requirement)
    record = next(record for record in compose("standard").plugins if record.name == "odd")
    assert record.state == "failed"
    start = "failed to load: UnmetRequirementError: newel-odd 2.1 needs "
    assert record.why.startswith(start)
    assert "pip install '" in record.why


@pytest.mark.parametrize("requirement", UNMET)
@pytest.mark.parametrize("body", ["plugins: [odd]", "settings: {odd: {}}", "replace: {planning: odd}"])
def test_a_configured_plugin_with_an_unmet_requirement_stops(
    site: Any, extending: Any, requirement: str, body: str
) -> None:
    install(site, requirement)
    with pytest.raises(PluginLoadError, match=rf"the plugin 'odd' .*{UNMET[requirement]}"):
        compose(extending("standard", body))


@pytest.mark.parametrize("requirement", MET)
def test_what_is_met_or_not_certain_is_imported(site: Any, requirement: str) -> None:
    install(site, requirement)
    record = next(record for record in compose("standard").plugins if record.name == "odd")
    assert "imported" in record.why
