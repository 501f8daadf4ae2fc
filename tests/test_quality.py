"""Lint, types and import contracts, as a contributor runs them; a failure shows the tool's output."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TOOLS = {
    "ruff": ("-m", "ruff", "check", "."),
    "ruff format": ("-m", "ruff", "format", "--check", "."),
    "mypy": ("-m", "mypy"),
    # Its console script may not be beside the interpreter that runs the tests.
    "lint-imports": ("-c", "from importlinter.cli import lint_imports_command as run; run()", "--no-cache"),
}


@pytest.mark.parametrize("tool", TOOLS)
def test_is_satisfied(tool: str) -> None:
    done = subprocess.run([sys.executable, *TOOLS[tool]], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, f"{tool}:\n{done.stdout}\n{done.stderr}"
