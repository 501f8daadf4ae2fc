"""The page of promises names tests that exist, and enough variants of each attack."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/explanation/promises.md"
#: So many tests, or parameters of tests, try other cases of an attack's kind.
VARIANTS = 5


def rows_of(heading: str) -> list[list[tuple[str, str]]]:
    """The tests that each row of the section's first table names."""
    section = PAGE.read_text(encoding="utf-8").partition(heading)[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
    return [re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row) for row in rows]


def test_each_promise_names_a_test_that_exists() -> None:
    rows = rows_of("# What is promised when what fails")
    assert len(rows) > 10
    for row in rows:
        assert row
        for path, name in row:
            assert re.search(rf"^(async )?def {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE), name


def test_each_attack_has_variants() -> None:
    rows = rows_of("## Attacks, and the tests of their kinds")
    assert len(rows) == 10
    files = sorted({path for row in rows for path, _ in row})
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n0", "-p", "no:cacheprovider", *files]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    count = Counter(re.findall(r"^(tests/[\w/]+\.py::\w+)", listed, re.MULTILINE))
    for row in rows:
        counts = {f"{path}::{name}": count[f"{path}::{name}"] for path, name in row}
        assert all(counts.values()), counts
        assert sum(counts.values()) >= VARIANTS, counts
