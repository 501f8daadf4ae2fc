"""The page "Your first hour": its blocks run in order in a clean environment, and print what the page shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).resolve().parents[1] / "docs" / "start" / "first-hour.md"
#: What the page begins with. The test has an environment of its own, which finds the newel that is tested.
ENVIRONMENT = ["python3 -m venv .venv", ". .venv/bin/activate", "pip install -q newel"]


class Step(NamedTuple):
    """Commands, and the lines that stand in what they print, in this order."""

    commands: str
    shown: list[str]


def steps() -> list[Step]:
    found: list[Step] = []
    for language, text in re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S):
        if language == "console":
            found.append(Step(text, []))
        else:
            assert language == "text"
            found[-1].shown.extend(text.splitlines())
    return found


def environment(folder: Path) -> dict[str, str]:
    """A fresh virtual environment that finds what this one has installed, and asks no index."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / ".venv"], check=True)
    (site,) = (folder / ".venv" / "lib").glob("python*/site-packages")
    (site / "shared.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    for name, module in (("newel", "newel.cli.main"), ("pip", "pip"), ("pytest", "pytest")):
        script = folder / ".venv" / "bin" / name
        script.write_text(f'#!/bin/sh\nexec "{folder}/.venv/bin/python" -m {module} "$@"\n')
        script.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NEWEL_", "GOOGLE_", "GEMINI_"))}
    pip = {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    terminal = {"TERM": "dumb", "COLUMNS": "100"}
    path = {"PATH": f"{folder}/.venv/bin{os.pathsep}{kept['PATH']}", "HOME": str(folder)}
    return {**kept, **pip, **terminal, **path}


def test_the_blocks_run_in_order(
    tmp_path: Path, in_terminal: Callable[[Path, Mapping[str, str]], tuple[int, str]]
) -> None:
    first, *rest = steps()
    assert first.commands.splitlines() == ENVIRONMENT
    script = tmp_path / "hour.sh"
    script.write_text("".join(f"echo '== {number}'\n{step.commands}" for number, step in enumerate(rest)))
    status, shown = in_terminal(script, environment(tmp_path))
    output = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown)
    assert status == 0, output
    parts = re.split(r"^== \d+\n", output, flags=re.MULTILINE)[1:]
    assert len(parts) == len(rest)
    for step, part in zip(rest, parts, strict=True):
        after = 0
        for line in step.shown:
            place = part.find(line.strip(), after)
            assert place >= 0, f"{line!r} is not in what was printed:\n{part}"
            after = place + len(line.strip())
