"""A turn takes the opcodes of the table; a commit that makes one dearer updates the table and says why."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
#: What a change may add or save before the table must follow.
TOLERANCE = 0.02
SCRIPT = "python tests/benchmarks/opcodes.py"
UPDATE = f"{SCRIPT} --update"


def differences(table: dict[str, dict[str, int]], found: dict[str, dict[str, int]]) -> list[str]:
    """What to do about each case whose opcodes are not those of the table."""
    lines = []
    for distribution, cases in found.items():
        for case, count in cases.items():
            expected = table.get(distribution, {}).get(case)
            where = f"{case!r} in {distribution}: {count:,} opcodes, the table has {expected}"
            if expected is None or count < expected * (1 - TOLERANCE):
                lines.append(f"{where}: update the table ({UPDATE})")
            elif count > expected * (1 + TOLERANCE):
                lines.append(
                    f"{where} ({count / expected - 1:+.1%}): see what grew ({SCRIPT} --top {case!r}); "
                    f"if it is worth that, say the reason in the commit that updates the table ({UPDATE})"
                )
    return lines


def test_a_turn_takes_the_opcodes_of_the_table() -> None:
    tables = json.loads((HERE / "opcodes.json").read_text(encoding="utf-8"))
    if VERSION not in tables:
        pytest.skip(f"opcodes.json has no table for Python {VERSION}; {UPDATE} adds it")
    command = [sys.executable, str(HERE / "opcodes.py"), "--json"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=HERE)
    assert result.returncode == 0, result.stderr
    assert "\n".join(differences(tables[VERSION], json.loads(result.stdout))) == ""


def test_a_case_that_grows_needs_a_reason_and_one_that_shrinks_a_new_table() -> None:
    table = {"standard": {"text": 1000}}
    assert differences(table, {"standard": {"text": 1020}}) == []
    assert differences(table, {"standard": {"text": 980}}) == []
    assert "+2.1%" in differences(table, {"standard": {"text": 1021}})[0]
    assert "update the table" in differences(table, {"standard": {"text": 979}})[0]
    assert "update the table" in differences(table, {"standard": {"tool": 1}})[0]
