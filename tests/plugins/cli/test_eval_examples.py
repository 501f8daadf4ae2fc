"""Every shipped example passes its evaluation as a person would type it: with the folder's own criteria."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[3] / "docs" / "examples"
SETS = {path.parent.name: path.name.removesuffix(".evalset.json") for path in sorted(EXAMPLES.glob("*/*.evalset.json"))}


@pytest.mark.parametrize("example", SETS)
def test_an_example_passes_as_it_is_typed(example: str, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / example, tmp_path / example)
    command = [sys.executable, "-m", "newel.cli.main", "eval"]
    for arguments in ([example], [example, SETS[example]], [example, f"{example}/{SETS[example]}.evalset.json"]):
        result = subprocess.run([*command, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stdout + result.stderr
        assert "response_match_score" not in result.stdout  # a default that the example's own criteria replace
