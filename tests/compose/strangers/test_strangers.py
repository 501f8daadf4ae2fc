"""A stranger's package, broken or hostile: every command answers, every other agent runs, the culprit is named."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.compose.strangers.cases import CASES, Case

from newel.testing.packages import FakePackages

#: Seconds of the processor that a command may take with a stranger installed.
_LONGEST = 10.0
_AGENT = "name: kettle\nmodel: 'demo:'\ninstruction: Boil water.\n"
COMMANDS = {
    "plugins": ["plugins"],
    "settings": ["plugins", "settings"],
    "why": ["plugins", "why", "odd"],
    "doctor": ["doctor"],
    "help": ["--help"],
    "chain": ["chain", "kettle.yaml"],
    "run": ["run", "kettle.yaml", "hi", "--model", "demo:"],
}
_IN_JSON = ("plugins", "settings", "why", "doctor", "chain")
#: What a terminal obeys, or shows in another order than it stands.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
_WIDEST = 1200
_REMEDY = "disable|install|replace|mark|did you mean|write |newel.yaml"


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[dict[str, Any]], dict[str, Any]]]:
    """A process that has imported newel, and forks for each case."""
    script = Path(__file__).with_name("warm.py")
    with subprocess.Popen(
        [sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        folder = tmp_path_factory.mktemp("nobody")
        (folder / "kettle.yaml").write_text(_AGENT)
        print(json.dumps({"folder": str(folder), "path": [], "commands": COMMANDS}), file=process.stdin, flush=True)

        def play(case: dict[str, Any]) -> dict[str, Any]:
            print(json.dumps(case), file=process.stdin, flush=True)
            return json.loads(process.stdout.readline())

        yield play
        process.stdin.close()


def played(case: Case, warm: Any, folder: Path) -> dict[str, Any]:
    """What came of each command with the package of a case installed."""
    packages = FakePackages(folder / "site")
    packages.path.mkdir()
    case.install(packages)
    (folder / "kettle.yaml").write_text(_AGENT)
    if case.house:
        (folder / "newel.yaml").write_text(f"name: house\nextends: standard\n{case.house}\n")
    path = [str(packages.path), *map(str, packages.path.glob("*.zip"))]
    # Those that hang are to be done soon; the others have time, however busy the machine is.
    environ = {"NEWEL_PLUGIN_SECONDS": "2" if "hangs" in case.name or "spins" in case.name else "60"}
    result: dict[str, Any] = warm({"folder": str(folder), "path": path, "commands": COMMANDS, "environ": environ})
    return result


def problems(case: Case, result: dict[str, Any]) -> Iterator[str]:
    """What is wrong with how the commands went."""
    if result["hangs"] or "run" not in result["commands"]:
        yield f"it did not end; done: {list(result['commands'])}"
        return
    for name, one in result["commands"].items():
        yield from (f"{name} {why}" for why in _command_problems(name, one))
    yield from _run_problems(case, result["commands"]["run"])
    yield from _blame_problems(case, result["commands"])


def _command_problems(name: str, one: dict[str, Any]) -> Iterator[str]:
    said = one["out"] + one["err"]
    if isinstance(one["code"], str):
        yield f"raised {one['code']}"
    if one["seconds"] > _LONGEST:
        yield f"took {one['seconds']:.1f} s"
    if found := _UNSAFE.search(said):
        yield f"prints {found[0]!r}"
    if "Traceback" in said:
        yield f"shows a traceback: {said[-500:]}"
    if any(len(line) > _WIDEST for line in one["err"].splitlines()):
        yield f"prints a line of more than {_WIDEST} characters"
    refused = one["code"] == 2 and not one["out"] and one["err"].startswith("Error:")
    if name in _IN_JSON and not refused:
        try:
            json.loads(one["out"])
        except ValueError:
            yield f"prints no JSON: {one['out'][:200]!r} {one['err'][:300]!r}"


def _run_problems(case: Case, run: dict[str, Any]) -> Iterator[str]:
    said = f"{run['code']} {run['out'][:200]!r} {run['err'][:600]!r}"
    if case.run == "answers":
        if run["code"] != 0 or "offline demo model" not in run["out"]:
            yield f"the run does not answer: {said}"
    elif not re.search(case.run, run["err"]):
        yield f"the run does not say {case.run!r}: {said}"


def _blame_problems(case: Case, commands: dict[str, Any]) -> Iterator[str]:
    """What is wrong with how the culprit was named: in at most three lines, each with what to do."""
    said = commands["start"]["err"]
    if case.told and not re.search(case.told, said + commands["why"]["out"] + commands["plugins"]["out"]):
        yield f"not told {case.told!r}: {said!r} {commands['why']['out']!r}"
    if not case.told and "left out" in said:
        yield f"left out: {said!r}"
    lines = said.splitlines()
    if len(lines) > 3:
        yield f"{len(lines)} lines on stderr: {lines[:4]}"
    if said and not case.is_free and not all(re.search(_REMEDY, line) for line in lines):
        yield f"no remedy: {lines}"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_stranger_hurts_nobody_else(case: Case, warm: Any, tmp_path: Path) -> None:
    assert not list(problems(case, played(case, warm, tmp_path)))


def test_there_are_enough_cases_of_different_names() -> None:
    assert len({case.name for case in CASES}) == len(CASES) > 100
