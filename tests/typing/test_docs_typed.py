"""The code of the docs and of the examples is what type checkers accept: readers copy it."""

from __future__ import annotations

from collections.abc import Callable

from tests.typing.checkers import Finding
from tests.typing.sources import PAGES

#: Not about the code of a page: what it imports lies in another block, or in a package that is not installed.
_ELSEWHERE = {"note", "information", "import-not-found", "import-untyped", "reportMissingImports"}


def checked(found: set[Finding]) -> None:
    """Fail if a page has findings."""
    by_place: dict[str, list[str]] = {}
    for one in sorted(found):
        if one.code not in _ELSEWHERE and (page := PAGES.get(one.file.removesuffix(".py"))):
            place, _ = page
            by_place.setdefault(place, []).append(f"{one.line} {one.code}: {one.text}")
    assert by_place == {}


def test_there_are_pages_and_examples_with_code() -> None:
    assert len({place for place, _ in PAGES.values() if place.endswith(".md")}) > 35
    assert len({place for place, _ in PAGES.values() if place.endswith(".py")}) > 10


def test_the_code_of_the_docs_passes_mypy(found_by: Callable[[str], set[Finding]]) -> None:
    checked(found_by("mypy"))


def test_the_code_of_the_docs_passes_pyright(found_by: Callable[[str], set[Finding]]) -> None:
    checked(found_by("pyright"))
