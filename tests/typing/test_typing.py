"""Small programs under the checkers: the right ones pass, the wrong ones fail where and as a person understands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.typing.checkers import Finding, mypy, pyright, pyright_command

PROGRAMS = Path(__file__).with_name("programs.txt")
_PROGRAM = re.compile(r"^=== (\w+)\n(.*?)(?=^=== |\Z)", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"  # (?:E: ([\w-]+)\|(\w+)|T: (.+))$")
MYPY, PYRIGHT = 1, 2


def programs() -> dict[str, str]:
    found = dict(_PROGRAM.findall(PROGRAMS.read_text(encoding="utf-8")))
    assert len(found) == PROGRAMS.read_text(encoding="utf-8").count("\n=== ")
    return found


def expected(checker: int) -> set[tuple[str, int, str]]:
    """The file, the line and the code of each finding that the programs expect of a checker."""
    return {
        (f"{name}.py", number, f"type {mark[3]}" if mark[3] else mark[checker])
        for name, text in programs().items()
        for number, line in enumerate(text.splitlines(), 1)
        if (mark := _MARK.search(line))
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in programs().items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    return tmp_path


def differences(found: set[Finding], checker: int) -> list[str]:
    """What a checker does not report as expected, and what it reports beyond it."""
    wanted = expected(checker)
    reported = {(one.file, one.line, one.code) for one in found if one.code not in ("note", "information")}
    texts = {(one.file, one.line): one.text for one in found}
    missing = [f"not reported: {file}:{line} {code}" for file, line, code in sorted(wanted - reported)]
    return missing + [f"{file}:{line} {code}: {texts[file, line]}" for file, line, code in sorted(reported - wanted)]


def test_there_are_many_programs_right_and_wrong() -> None:
    wrong = [text for text in programs().values() if "# E: " in text]
    assert len(programs()) >= 60
    assert len(wrong) >= 25


def test_mypy_finds_what_is_wrong_and_nothing_else(folder: Path) -> None:
    assert differences(mypy(folder), MYPY) == []


def test_pyright_finds_what_is_wrong_and_nothing_else(folder: Path) -> None:
    if (command := pyright_command()) is None:
        pytest.skip("pyright is not installed: pip install basedpyright, which brings its own Node")
    assert differences(pyright(folder, command), PYRIGHT) == []
