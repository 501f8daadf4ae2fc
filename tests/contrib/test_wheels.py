"""Plugins as their users get them: wheels, installed beside newel's into a virtual environment of their own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
STRANGERS = Path(__file__).parent / "strangers"
ADDRESS = "ann@example.com"
_OWN = ("NEWEL_DISTRIBUTION", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")


def execute(*command: str | Path, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> str:
    """A command's output; its failure shows what it wrote."""
    clean = {name: value for name, value in os.environ.items() if name not in _OWN}
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, env={**clean, **(env or {})}, cwd=cwd
    )
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def build(source: Path, target: Path) -> Path:
    """The wheel of the project in `source`."""
    before = set(target.glob("*.whl"))
    execute(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", target, source)
    (wheel,) = set(target.glob("*.whl")) - before
    return wheel


def copied(source: Path, target: Path) -> Path:
    """A copy to build from, so that nothing is written into the checkout."""
    leave_out = shutil.ignore_patterns("__pycache__", ".*", "build", "dist", "tests")
    return shutil.copytree(source, target, ignore=leave_out)


@dataclass(frozen=True, slots=True)
class Installed:
    """A virtual environment with all wheels, and an empty folder to work in."""

    python: Path
    folder: Path
    env: Mapping[str, str]

    def newel(self, *arguments: str) -> str:
        """The output of the console script."""
        script = self.python.with_name("newel" + self.python.suffix)
        return execute(script, *arguments, env=self.env, cwd=self.folder)

    def refused(self, *arguments: str) -> str:
        """What the console script says when it ends with status 2."""
        clean = {name: value for name, value in os.environ.items() if name not in _OWN}
        done = subprocess.run(
            [str(self.python.with_name("newel" + self.python.suffix)), *arguments],
            capture_output=True,
            text=True,
            env={**clean, **self.env},
            cwd=self.folder,
        )
        assert done.returncode == 2, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        return done.stderr

    def plugins(self, *arguments: str) -> dict[str, dict[str, Any]]:
        """`newel plugins`, by name."""
        return {record["name"]: record for record in json.loads(self.newel("plugins", *arguments))}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheels of newel, of redact, and of two strangers' plugins."""
    target = tmp_path_factory.mktemp("wheels")
    sources = tmp_path_factory.mktemp("sources")
    build(copied(ROOT, sources / "newel"), target)
    for plugin in (ROOT / "contrib" / "redact", STRANGERS / "hall", STRANGERS / "english"):
        build(copied(plugin, sources / plugin.name), target)
    return target


@pytest.fixture(scope="module")
def environment(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a new virtual environment, into which pip has installed the plugins and what they need."""
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, with_pip=False, symlinks=os.name != "nt")
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    # This interpreter's pip serves the new environment: to install a second one takes longer than all the rest.
    execute(
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-compile",
        *wheels.glob("*.whl"),
    )
    return python


@pytest.fixture
def installed(environment: Path, tmp_path: Path) -> Installed:
    (tmp_path / "agent.yaml").write_text("name: parrot\nmodel: 'echo:'\ninstruction: Repeat.\n", encoding="utf-8")
    return Installed(environment, tmp_path, {})


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a newer plugin, whose module cannot be imported."""
    source = copied(ROOT / "contrib" / "redact", tmp_path_factory.mktemp("source") / "redact")
    project = source / "pyproject.toml"
    project.write_text(project.read_text(encoding="utf-8").replace('"0.1.0"', '"0.2.0"'), encoding="utf-8")
    module = source / "newel_redact" / "plugin.py"
    module.write_text("raise ImportError('libredact.so.3 is missing')\n", encoding="utf-8")
    wheel = build(source, tmp_path_factory.mktemp("broken"))
    site = tmp_path_factory.mktemp("site")
    execute(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--target", site, wheel)
    return site


@pytest.fixture
def broken(installed: Installed, newer: Path) -> Installed:
    """The environment with that one in front."""
    return Installed(installed.python, installed.folder, {"PYTHONPATH": str(newer)})


def test_it_runs_from_its_own_environment(installed: Installed) -> None:
    code = "import newel, newel_kernel, newel_redact as m; print(newel.__file__, m.__file__, sep='\\n')"
    for path in execute(installed.python, "-c", code, cwd=installed.folder).split():
        assert Path(path).is_relative_to(installed.python.parent.parent)


def test_plugins_lists_it(installed: Installed) -> None:
    record = installed.plugins()["redact"]
    assert record["distribution"] == "newel-redact"
    assert record["version"] == "0.1.0"
    assert record["state"] == "enabled"
    assert "register_request_processors" in record["hooks"]
    assert installed.plugins("--distribution", "adk")["redact"]["state"] == "available"


def test_chain_shows_it_in_its_place(installed: Installed) -> None:
    chain = json.loads(installed.newel("chain", "agent.yaml"))["chains"]["request_chain"]
    names = [row["name"] for row in chain]
    row = chain[names.index("contents") + 1]
    assert row["name"] == "redact"
    assert row["distribution"] == "newel-redact 0.1.0"
    assert row["placed_by"] == "after contents"


def test_run_masks(installed: Installed) -> None:
    request = json.loads(installed.newel("run", "agent.yaml", f"I am {ADDRESS}."))
    assert request["contents"] == [{"parts": [{"text": "I am [email masked]."}], "role": "user"}]
    line = installed.newel("run", "agent.yaml", f"I am {ADDRESS}.", "--json").splitlines()[-1]
    event = json.loads(line)
    metadata = event.get("custom_metadata") or event.get("customMetadata")
    assert metadata["redact"] == {"email": 1}


def test_a_distribution_sets_it_up(installed: Installed) -> None:
    (installed.folder / "newel.yaml").write_text(
        "name: mine\nextends: adk\nplugins: [redact]\nsettings:\n  redact:\n    replacement: '#'\n", encoding="utf-8"
    )
    assert "I am #." in installed.newel("run", "agent.yaml", f"I am {ADDRESS}.")
    (installed.folder / "newel.yaml").write_text(
        "name: mine\nextends: adk\nplugins: [redact]\nsettings:\n  redact:\n    kinds: [phone]\n", encoding="utf-8"
    )
    error = installed.refused("run", "agent.yaml", "hi")
    assert "settings of 'redact' (newel-redact 0.1.0)" in error


def test_a_broken_one_is_reported_and_left_out(broken: Installed) -> None:
    record = broken.plugins()["redact"]
    assert record["state"] == "failed"
    assert record["version"] == "0.2.0"
    assert record["why"] == "failed to load: ImportError: libredact.so.3 is missing (plugin.py:1)"
    rows = json.loads(broken.newel("chain", "agent.yaml"))["chains"]["request_chain"]
    assert "redact" not in [row["name"] for row in rows]
    assert f"I am {ADDRESS}." in broken.newel("run", "agent.yaml", f"I am {ADDRESS}.")


def test_a_broken_one_that_is_named_stops_composition(broken: Installed) -> None:
    (broken.folder / "newel.yaml").write_text("name: mine\nextends: adk\nplugins: [redact]\n", encoding="utf-8")
    error = broken.refused("run", "agent.yaml", "hi")
    for expected in ("'redact'", "newel-redact 0.2.0", "ImportError: libredact.so.3 is missing"):
        assert expected in error


# --- a kind that one stranger's plugin declares, and another one's fills ----------------------------------------------


def instruction(installed: Installed) -> str:
    """What the model is told, as the echo model shows it."""
    return str(json.loads(installed.newel("run", "agent.yaml", "Hello"))["system_instruction"])


def test_a_plugin_fills_a_kind_that_another_one_declares(installed: Installed) -> None:
    records = installed.plugins()
    assert records["hall"]["hooks"] == ["register_kinds", "register_request_processors"]
    assert records["english"]["hooks"] == ["register_greetings"]
    why = json.loads(installed.newel("plugins", "why", "english"))
    assert why["provides"] == [{"kind": "Greeting", "name": "english", "address": "greetings/english"}]
    assert "Begin with: Good day." in instruction(installed)


def test_without_the_owner_of_its_kind_it_is_left_out_and_said_so(installed: Installed) -> None:
    (installed.folder / "newel.yaml").write_text("extends: standard\ndisable: [hall]\n", encoding="utf-8")
    why = json.loads(installed.newel("plugins", "why", "english"))
    assert why["state"] == "enabled"
    assert why["hooks"] == []
    assert why["provides"] == []
    assert why["left_out"] == ["register_greetings: no enabled plugin declares that kind"]
    assert "Begin with" not in instruction(installed)


def test_without_those_that_fill_it_the_kind_is_empty(installed: Installed) -> None:
    (installed.folder / "newel.yaml").write_text("extends: standard\ndisable: [english]\n", encoding="utf-8")
    assert "Begin with: silence." in instruction(installed)
