"""What the README shows is what happens; its commands and those of the continuous check are the same."""

from __future__ import annotations

import html
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

from newel.models.kinds import ModelProvider
from newel_compose import compose

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PICTURE = ROOT / "docs" / "start" / "terminal.svg"
WIDTH = 96
#: What the picture shows, run in an empty folder.
COMMANDS = [
    "newel new agent weather",
    'newel run weather "What is the weather in Paris?"',
    "newel plugins why tool_timeout",
]
#: Variables that would choose another model or distribution.
ELSEWHERE = ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "NEWEL_DISTRIBUTION")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def lines(language: str) -> list[str]:
    return [line for block in blocks(language) for line in block.splitlines()]


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in ELSEWHERE}


@pytest.mark.parametrize("code", [pytest.param(code, id=str(n)) for n, code in enumerate(blocks("python"), 1)])
def test_python_runs(code: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=tmp_path, env=environment()
    )
    assert done.returncode == 0, done.stderr
    assert "light rain" in done.stdout or "It rains. 1" in done.stdout, done.stdout


def test_the_offline_command_runs(tmp_path: Path) -> None:
    """With the newel that is installed, for to install it anew takes a minute; the continuous check does."""
    (command,) = [line for line in lines("console") if line.startswith("python3 -m venv") and "newel run" in line]
    venv, install, run = command.split(" && ")
    assert venv == "python3 -m venv .venv"
    assert install == ".venv/bin/pip install -q ."
    program, *arguments = shlex.split(run)
    assert program == ".venv/bin/newel"
    verb, agent, message = arguments
    code = "from newel.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, verb, str(ROOT / agent), message],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment(),
    )
    assert done.returncode == 0, done.stderr
    assert "light rain" in done.stdout


def test_the_command_of_the_tests_is_the_one_of_the_continuous_check() -> None:
    """It only has its virtual environment in another folder."""
    (command,) = [line for line in lines("console") if "[test]" in line]
    check = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    found = [shlex.split(line)[2:] for line in check.splitlines() if line.startswith("step ")]
    same = {"$python": "python3", "$folder/venv": ".venv"}
    steps = [[same.get(word, word.replace("$folder/venv", ".venv")) for word in step if word != "$@"] for step in found]
    assert steps == [shlex.split(step) for step in command.split(" && ")]


def test_the_models_of_the_commands_have_a_provider() -> None:
    (named,) = {word for line in lines("console") for word in re.findall(r"--model (\S+)", line)}
    providers = compose("standard").registry.owned(ModelProvider).values()
    assert any(re.fullmatch(pattern, named) for one in providers for pattern in one.item.patterns)


def drawn(shown: str) -> str:
    """The picture of a terminal that shows it. Its fonts are the reader's own: nothing is asked of anybody."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(shown))
    fonts = re.compile(r"@font-face \{.*?\n    \}\n", re.DOTALL)
    return fonts.sub("", console.export_svg(title="newel", unique_id="newel")).replace("Fira Code", "ui-monospace")


def texts(picture: str) -> list[str]:
    """The lines of a picture."""
    lines: dict[str, str] = {}
    for place, text in re.findall(r'<text[^>]*\by="([\d.]+)"[^>]*>([^<]*)</text>', picture):
        lines[place] = lines.get(place, "") + html.unescape(text).replace("\xa0", " ")
    return list(lines.values())


def test_the_picture_shows_what_the_commands_print(
    tmp_path: Path, in_terminal: Callable[[Path, Mapping[str, str]], tuple[int, str]]
) -> None:
    """With NEWEL_PICTURE=1 it is drawn anew."""
    (tmp_path / "newel").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m newel.cli.main "$@"\n')
    (tmp_path / "newel").chmod(0o755)
    script = tmp_path / "picture.sh"
    script.write_text("".join(f"printf '\\033[1m$ \\033[0m'; echo {shlex.quote(line)}\n{line}\n" for line in COMMANDS))
    path = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "COLUMNS": str(WIDTH), "TERM": "xterm-256color"}
    status, shown = in_terminal(script, {**environment(), **path})
    assert status == 0, shown
    shown = re.sub(r"--session [0-9a-f-]{36}", "--session 3f5c1c52", shown)
    if os.environ.get("NEWEL_PICTURE"):
        PICTURE.write_text(drawn(shown), encoding="utf-8")
    assert "https://" not in PICTURE.read_text(encoding="utf-8").replace("https://www.textualize.io", "")
    assert texts(PICTURE.read_text(encoding="utf-8")) == texts(drawn(shown))


def test_what_it_links_to_exists() -> None:
    targets = re.findall(r"\]\(([^)#]+)\)", README)
    assert len(targets) > 5
    assert not [target for target in targets if not target.startswith("http") and not (ROOT / target).exists()]
