"""The code of the docs and of the examples is what type checkers accept: readers copy it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.typing.checkers import Finding, mypy, pyright, pyright_command

DOCS = Path(__file__).resolve().parents[2] / "docs"
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (\S+\.py)\n")
#: Not about the code of a page: what it imports lies in another block, or in a package that is not installed.
_ELSEWHERE = {"note", "information", "import-not-found", "import-untyped", "reportMissingImports"}


def modules(page: Path) -> dict[str, str]:
    """The Python of a page: the blocks as one module, at the lines of the page, and each file that it shows."""
    text = page.read_text(encoding="utf-8")
    found: dict[str, str] = {}
    own: list[str] = []
    for block in _BLOCK.finditer(text):
        if file := _FILE.match(block[1]):
            found[re.sub(r"\W", "_", file[1])] = block[1]
            continue
        own += [""] * (text.count("\n", 0, block.start(1)) - len(own)) + block[1].splitlines()
    return found | {"": "\n".join(own) + "\n"} if own else found


def sources() -> dict[str, tuple[str, str]]:
    """Module -> its page or file, and its text."""
    found: dict[str, tuple[str, str]] = {}
    for page in sorted(DOCS.rglob("*.md")):
        place = page.relative_to(DOCS).as_posix()
        name = re.sub(r"\W", "_", place.removesuffix(".md"))
        if "build.py --reference`. -->" not in page.read_text(encoding="utf-8"):
            found |= {f"{name}_{part}".rstrip("_"): (place, text) for part, text in modules(page).items()}
    for file in sorted((DOCS / "examples").rglob("*.py")):
        place = file.relative_to(DOCS).as_posix()
        found[re.sub(r"\W", "_", place)] = (place, file.read_text(encoding="utf-8"))
    return found


SOURCES = sources()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, (_, text) in SOURCES.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    return tmp_path


def checked(found: set[Finding]) -> None:
    """Fail if a page has findings."""
    by_place: dict[str, list[str]] = {}
    for one in sorted(found):
        if one.code not in _ELSEWHERE:
            place, _ = SOURCES[one.file.removesuffix(".py")]
            by_place.setdefault(place, []).append(f"{one.line} {one.code}: {one.text}")
    assert by_place == {}


def test_there_are_pages_and_examples_with_code() -> None:
    assert len({place for place, _ in SOURCES.values() if place.endswith(".md")}) > 35
    assert len({place for place, _ in SOURCES.values() if place.endswith(".py")}) > 10


def test_the_code_of_the_docs_passes_mypy(folder: Path) -> None:
    checked(mypy(folder))


def test_the_code_of_the_docs_passes_pyright(folder: Path) -> None:
    if (command := pyright_command()) is None:
        pytest.skip("pyright is not installed: pip install basedpyright, which brings its own Node")
    checked(pyright(folder, command))
