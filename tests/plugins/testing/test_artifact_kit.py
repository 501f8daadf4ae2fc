"""The kit for stores of artifacts catches what is wrong: each planted bug, by the check that says what was promised."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.plugins.testing.planted import Bug
from tests.plugins.testing.planted.artifacts import IN_FILES, IN_MEMORY, CountsFromOne

from newel.artifacts import InMemoryArtifactService
from newel.testing import artifact_checks, artifact_conformance


@pytest.mark.parametrize("bug", IN_MEMORY, ids=lambda bug: bug.faulty.__name__)
def test_a_bug_in_memory_is_caught(bug: Bug) -> None:
    with pytest.raises(Exception):  # noqa: B017, PT011 - a store's own errors, too
        artifact_checks(bug.faulty, shared=False)[bug.check]()


@pytest.mark.parametrize("bug", IN_FILES, ids=lambda bug: bug.faulty.__name__)
def test_a_bug_in_files_is_caught(bug: Bug, tmp_path: Path) -> None:
    with pytest.raises(Exception):  # noqa: B017, PT011 - as above
        artifact_checks(lambda: bug.faulty(tmp_path))[bug.check]()


def test_one_report_names_all_that_fails() -> None:
    with pytest.raises(AssertionError, match=r"fails \d+ check") as caught:
        artifact_conformance(CountsFromOne, shared=False)
    failed = {line.partition(":")[0] for line in str(caught.value).splitlines()[1:]}
    assert {"versions_count_from_zero", "concurrent_saves_have_numbers_of_their_own"} <= failed
    assert "names_that_lead_elsewhere_are_refused" not in failed


def test_services_that_share_no_place_fail_as_shared_ones() -> None:
    with pytest.raises(AssertionError):
        artifact_checks(InMemoryArtifactService)["two_services_never_take_one_number"]()
