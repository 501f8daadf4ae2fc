"""The checks for artifact stores of other people: a store with a fault fails them, and is told all that is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from newel.artifacts import InMemoryArtifactService
from newel.testing import artifact_checks, artifact_conformance
from newel_types import Part


class CountsFromOne(InMemoryArtifactService):
    """Says that the first version is 1."""

    async def save_artifact(self, **where: Any) -> int:
        return await super().save_artifact(**where) + 1


class LosesTheUser(InMemoryArtifactService):
    """Deletes a user's artifacts with a session."""

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        for key in [key for key in self._versions if key[:2] == (app_name, user_id)]:
            del self._versions[key]


class SharesParts(InMemoryArtifactService):
    """Gives the part that it keeps."""

    async def load_artifact(self, *, version: int | None = None, **where: Any) -> Part | None:
        entry = self._entry(self._key(**where), version)
        return entry[0] if entry is not None else None


@pytest.mark.parametrize(
    ("store", "failing"),
    [
        (CountsFromOne, {"versions_count_from_zero", "concurrent_saves_have_numbers_of_their_own"}),
        (LosesTheUser, {"a_session_goes_with_its_artifacts"}),
        (SharesParts, {"parts_are_the_callers", "a_withdrawn_version_is_no_artifact"}),
    ],
)
def test_a_faulty_store_is_told_what_is_wrong(store: type[InMemoryArtifactService], failing: set[str]) -> None:
    with pytest.raises(AssertionError, match=r"fails \d check") as caught:
        artifact_conformance(store, shared=False)
    failed = {line.partition(":")[0] for line in str(caught.value).splitlines()[1:]}
    assert failing <= failed
    assert "names_that_lead_elsewhere_are_refused" not in failed


def test_services_that_share_no_place_fail_as_shared_ones() -> None:
    with pytest.raises(AssertionError):
        artifact_checks(InMemoryArtifactService)["two_services_never_take_one_number"]()
