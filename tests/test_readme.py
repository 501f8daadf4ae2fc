"""What the README shows is what happens; its commands and those of the continuous check are the same."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from newel_compose import compose

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
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
        capture_output=True, text=True, cwd=tmp_path, env=environment(),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "light rain" in done.stdout


def test_the_command_of_the_tests_is_the_one_of_the_continuous_check() -> None:
    install, test = "pip install -e '.[test]'", "pytest"
    assert f"{install} && {test}" in lines("console")
    check = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    steps = [re.sub(r" --quiet\b| -q\b", "", line) for line in check.splitlines() if line.startswith("step ")]
    assert any(line.endswith(install) for line in steps), steps
    assert any(line.endswith((test, f'{test} "$@"')) for line in steps), steps


def test_the_models_of_the_commands_have_a_provider() -> None:
    (named,) = {word for line in lines("console") for word in re.findall(r"--model (\S+)", line)}
    providers = compose("standard").registry["ModelProvider"].values()
    assert any(re.fullmatch(pattern, named) for one in providers for pattern in one.item.patterns)


@pytest.mark.parametrize("text", [pytest.param(text, id=str(n)) for n, text in enumerate(blocks("yaml"), 1)])
def test_a_distribution_composes(text: str, tmp_path: Path) -> None:
    file = tmp_path / "newel.yaml"
    file.write_text(text, encoding="utf-8")
    composed = compose(file)
    assert composed.distribution.name == "mine"
    assert [p.name for p in composed.plugins if p.state == "disabled"] == ["code_execution"]


def test_what_it_links_to_exists() -> None:
    targets = re.findall(r"\]\(([^)#]+)\)", README)
    assert len(targets) > 5
    assert not [target for target in targets if not target.startswith("http") and not (ROOT / target).exists()]
