"""No append of many writers in several processes waits longer than its patience: see `crowds`, which runs it whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.plugins.sessions.crowds import Crowd, all_at_once, is_whole

#: The troubles outlast what an append may wait by as much as a loaded machine may need.
PATIENCE, ALLOWANCE, TROUBLE = 0.5, 3.0, 4.0


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_no_append_of_a_crowd_waits_longer_than_its_patience(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    crowd = Crowd(
        kind=kind,
        where=str(tmp_path / "s.db") if kind == "sqlite" else request.getfixturevalue("postgres")(),
        processes=3,
        writers=15,
        patience=PATIENCE,
        seconds=TROUBLE + 1,
        trouble_seconds=TROUBLE,
        shares_every=4,
    )
    reports = crowd.run(all_at_once)
    assert sum(report["refused"] for report in reports) > 0
    for report in reports:
        assert report["longest"] < PATIENCE + ALLOWANCE, reports
        assert is_whole(report), reports
