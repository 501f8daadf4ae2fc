"""`newel new`: what it makes runs, and passes its own tests, as it is."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def python(project: Any, tmp_path: Path) -> Path:
    """An interpreter of its own that finds what this one has installed."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    (site,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    # As a site folder, so that its own .pth files (of an editable newel) count.
    (site / "shared.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    return tmp_path / "venv" / "bin" / "python"


def run(*command: object, cwd: Path) -> str:
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=os.environ, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_tests(python: Path | str, *paths: str, cwd: Path) -> str:
    """Their output; without hypothesis, which takes as long to import as the rest."""
    return run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", *paths, cwd=cwd)


def install(python: Path, folder: Path, *how: str) -> None:
    run(python, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index", *how, cwd=folder)


def test_an_agent_runs_and_passes_its_test(project: Any) -> None:
    made = project.newel("new", "agent", "my-desk")
    assert made.stdout.startswith("my_desk: newel run my_desk")
    assert "light rain" in project.newel("run", "my_desk", "What is the weather in Paris?").stdout
    run_tests(sys.executable, "my_desk", cwd=project.path)


def test_a_plugin_installs_passes_its_tests_and_takes_part(project: Any, python: Path) -> None:
    project.newel("new", "plugin", "shout")
    folder = project.path / "newel-shout"
    install(python, folder, "-e", ".")
    run_tests(python, cwd=folder)
    why = run(python, "-m", "newel.cli.main", "plugins", "why", "shout", cwd=project.path)
    assert '"state": "enabled"' in why
    assert '"after": "contents"' in why


def test_a_plugin_s_wheel_installs_beside_newel(project: Any, python: Path) -> None:
    project.newel("new", "plugin", "shout")
    install(python, project.path / "newel-shout", ".")
    listed = run(python, "-m", "newel.cli.main", "plugins", "list", "--from", "newel-shout", cwd=project.path)
    assert '"name": "shout"' in listed
    assert '"state": "enabled"' in listed


def test_a_distribution_installs_and_passes_its_tests(project: Any, python: Path) -> None:
    project.newel("new", "distribution", "house_rules")
    folder = project.path / "newel-house-rules"
    install(python, folder, "-e", ".")
    run_tests(python, cwd=folder)
    project.write("a.yaml", "name: a\n")
    command = ("run", "a.yaml", "hi", "--distribution", "house_rules", "--model", "echo:")
    assert run(python, "-m", "newel.cli.main", *command, cwd=project.path)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            ("agent", "My Agent"),
            "'My Agent' cannot be used as a name: write lower-case letters, digits and _, such as order_desk",
        ),
        (("agent", "../up"), "'../up' cannot be used as a name"),
        (("plugin", "contents"), "a plugin 'contents' is installed; choose another name"),
        (("plugin", "newel"), "'newel' cannot be used as a name"),
        (("distribution", "standard"), "newel has a distribution 'standard'; choose another name"),
        (("agnt", "x"), "No such command 'agnt'"),
    ],
)
def test_what_cannot_be_made(project: Any, command: tuple[str, ...], message: str) -> None:
    assert project.refused("new", *command).startswith(message)


def test_nothing_is_written_over(project: Any) -> None:
    project.write("desk/notes.txt", "mine")
    assert "desk already exists" in project.refused("new", "agent", "desk")
