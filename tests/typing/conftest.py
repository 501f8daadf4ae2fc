"""What the checkers report: each runs once over all sources, for to read newel takes most of its time."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.typing.checkers import Finding, mypy, pyright, pyright_command
from tests.typing.sources import PAGES, PROGRAMS


@pytest.fixture(scope="session")
def found_by(once: Callable[[str, Callable[[Path], None]], Path]) -> Callable[[str], set[Finding]]:
    """``found_by("mypy")``: what that checker reports of the programs and of the docs."""

    def found(checker: str) -> set[Finding]:
        command = pyright_command()
        if checker == "pyright" and command is None:
            pytest.skip("pyright is not installed: pip install basedpyright, which brings its own Node")

        def check(folder: Path) -> None:
            (folder / "src").mkdir()
            for name, text in _texts().items():
                (folder / "src" / f"{name}.py").write_text(text, encoding="utf-8")
            reported = (
                mypy(folder / "src") if command is None or checker == "mypy" else pyright(folder / "src", command)
            )
            (folder / "findings").write_bytes(pickle.dumps(reported))

        reported: set[Finding] = pickle.loads((once(checker, check) / "findings").read_bytes())
        return reported

    return found


def _texts() -> dict[str, str]:
    pages = {name: text for name, (_, text) in PAGES.items()}
    assert pages.keys().isdisjoint(PROGRAMS)
    return PROGRAMS | pages
