"""Runs mypy and pyright over programs, and reads what they report."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
#: What mypy knows of newel, kept for the next time.
MYPY_CACHE = ROOT / ".mypy_cache" / "typing"


class Finding(NamedTuple):
    """Something that a checker reports: a code, and the text for people; the code of a revealed type is its text."""

    file: str
    line: int
    code: str
    text: str


def mypy(folder: Path) -> set[Finding]:
    """What ``mypy --strict`` reports, without a configuration."""
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--no-error-summary", "--output=json"]
    result = subprocess.run(
        [*command, f"--cache-dir={MYPY_CACHE}", "--namespace-packages", "."],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode in (0, 1), result.stderr
    return {_of_mypy(json.loads(line)) for line in result.stdout.splitlines()}


def _of_mypy(one: dict[str, str]) -> Finding:
    revealed = re.match(r'Revealed type is "(.*)"', one["message"])
    code = f"type {_short(revealed[1])}" if revealed else one["severity"] == "error" and one["code"]
    return Finding(one["file"].removeprefix("./"), int(one["line"]), code or "note", one["message"])


def pyright_command() -> list[str] | None:
    """How pyright is called here; None if neither it nor its fork in the package basedpyright is installed."""
    beside = Path(sys.executable).with_name("basedpyright")
    found = str(beside) if beside.exists() else shutil.which("basedpyright") or shutil.which("pyright")
    return None if found is None else [found]


def pyright(folder: Path, command: list[str]) -> set[Finding]:
    """What pyright reports in its mode ``standard``."""
    settings = {"typeCheckingMode": "standard", "pythonVersion": "3.11", "reportUnusedExpression": "none"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    result = subprocess.run(
        [*command, "--outputjson", "--pythonpath", sys.executable, "-p", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode in (0, 1), result.stderr
    return set(_of_pyright(folder, json.loads(result.stdout)["generalDiagnostics"]))


def _of_pyright(folder: Path, found: list[dict[str, str]]) -> Iterator[Finding]:
    for one in found:
        place: dict[str, dict[str, int]] = one["range"]  # type: ignore[assignment]
        revealed = re.match(r'Type of ".*" is "(.*)"$', one["message"], re.DOTALL)
        file = Path(one["file"]).relative_to(folder).as_posix()
        code = f"type {_short(revealed[1])}" if revealed else one.get("rule", one["severity"])
        yield Finding(file, place["start"]["line"] + 1, code, one["message"])


def _short(name: str) -> str:
    """A type without the modules of its names."""
    return re.sub(r"\b[\w.]+\.(?=\w)", "", name)
