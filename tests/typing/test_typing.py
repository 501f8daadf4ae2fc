"""Small programs under the checkers: the right ones pass, the wrong ones fail where and as a person understands."""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.typing.checkers import Finding
from tests.typing.sources import PROGRAMS

_MARK = re.compile(r"  # (?:E: ([\w-]+)\|(\w+)|T: (.+))$")
MYPY, PYRIGHT = 1, 2


def expected(checker: int) -> set[tuple[str, int, str]]:
    """The file, the line and the code of each finding that the programs expect of a checker."""
    return {
        (f"{name}.py", number, f"type {mark[3]}" if mark[3] else mark[checker])
        for name, text in PROGRAMS.items()
        for number, line in enumerate(text.splitlines(), 1)
        if (mark := _MARK.search(line))
    }


def differences(found: set[Finding], checker: int) -> list[str]:
    """What a checker does not report as expected, and what it reports beyond it."""
    wanted = expected(checker)
    own = {one for one in found if one.file.removesuffix(".py") in PROGRAMS}
    reported = {(one.file, one.line, one.code) for one in own if one.code not in ("note", "information")}
    texts = {(one.file, one.line): one.text for one in found}
    missing = [f"not reported: {file}:{line} {code}" for file, line, code in sorted(wanted - reported)]
    return missing + [f"{file}:{line} {code}: {texts[file, line]}" for file, line, code in sorted(reported - wanted)]


def test_there_are_many_programs_right_and_wrong() -> None:
    wrong = [text for text in PROGRAMS.values() if "# E: " in text]
    assert len(PROGRAMS) >= 60
    assert len(wrong) >= 25


def test_mypy_finds_what_is_wrong_and_nothing_else(found_by: Callable[[str], set[Finding]]) -> None:
    assert differences(found_by("mypy"), MYPY) == []


def test_pyright_finds_what_is_wrong_and_nothing_else(found_by: Callable[[str], set[Finding]]) -> None:
    assert differences(found_by("pyright"), PYRIGHT) == []
