"""The prose of code and pages reads as a colleague would say it: a short list of phrases that nobody would.

Docstrings, comments, texts of the product and pages are checked, code is not. To use a phrase nevertheless (in a
quotation, or where it means something else), add the sentence to `ALLOWED`.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
#: What is checked. Tests and recorded data are not.
CHECKED = (
    "README.md",
    "docs/**/*.md",
    "docs/examples/**/*.py",
    "kernel/**/*.py",
    "plugins/**/*.py",
    "contrib/**/*.md",
    "contrib/**/*.py",
)
#: Sentences in which a phrase is right.
ALLOWED = ("Where possible",)


class Phrase(NamedTuple):
    """A phrase that reads foreign, and what to write instead."""

    pattern: str
    instead: str

    def found(self, text: str) -> Iterator[re.Match[str]]:
        return re.compile(self.pattern).finditer(text)


#: The verbs after which "where" states a condition and not a place.
_HOLDS = r"(?:is|are|was|were|has|have|had|does|do|did|can|cannot|could|needs?|fails?|comes?|gives?|names?|knows?)"
#: What follows such a condition, and not a place.
_CLAUSE = r"(?!which|and |but |or |for |from |with |in |at |as |to )"
PHRASES = (
    Phrase(r"(?i)(?<!there )\b(?:is|are|was|were) no (?!longer\b|doubt\b)", "'is not a' or 'must be'"),
    Phrase(r"\b(?:None|True|False|empty|none|nothing|only|even|0|Error),? where\b", "'if'"),
    Phrase(r"(?<![\w)`] )\bwhere there (?:is|are|was|were)\b", "'if there is'"),
    Phrase(rf"(?:[,;]|\balso) where (?:it|they|there|one|none|nothing|no|any|neither|some|several) {_HOLDS}\b", "'if'"),
    Phrase(
        rf"(?:^|[.:;] )Where (?:it|they|there|one|none|nothing|no|a|an|the|any) [^.;:]*\b{_HOLDS}\b[^.;:]*, {_CLAUSE}",
        "'If'",
    ),
    Phrase(r"(?i)\bbesides?\b", "'next to', 'with', 'in addition to' or 'other than'"),
    Phrase(r"(?i)\banew\b", "'again' or 'from scratch'"),
    Phrase(r", say(?=[,;.:)]|$)|\(say,", "'such as' or 'for example'"),
    Phrase(r"(?<!soon )(?<!long )(?<!far )(?<!just )\bas (?:it is|they are)(?=[.,;:)]|$)", "'unchanged'"),
    Phrase(r"(?i)\bwhat of\b", "the noun itself"),
    Phrase(r"(?i)\bin turn\b", "'one after the other'"),
    Phrase(r"(?i)\btime-outs?\b", "'timeout'"),
    Phrase(r"(?i)\bend points?\b", "'endpoint'"),
)


class Prose(NamedTuple):
    """A text of a file, and the line where it begins."""

    line: int
    text: str


def code_prose(source: str) -> Iterator[Prose]:
    """The docstrings and other strings with blanks, with a dash for each placeholder; and the comments, joined."""
    tree = ast.parse(source)
    joined = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    parts = {id(part) for node in joined for part in ast.walk(node) if part is not node}
    for node in ast.walk(tree):
        if id(node) in parts:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield Prose(node.lineno, node.value)
        elif isinstance(node, ast.JoinedStr):
            yield Prose(node.lineno, "".join(_text(value) for value in node.values))
    yield from _comments(source)


def _text(value: ast.expr) -> str:
    return str(value.value) if isinstance(value, ast.Constant) else "-"


def _comments(source: str) -> Iterator[Prose]:
    """Each comment; one that goes over several lines as a whole."""
    start, lines = 0, list[str]()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        line, text = token.start[0], token.string.lstrip("#: ")
        if lines and line == start + len(lines) and token.line.lstrip().startswith("#"):
            lines.append(text)
            continue
        if lines:
            yield Prose(start, "\n".join(lines))
        start, lines = line, [text]
    if lines:
        yield Prose(start, "\n".join(lines))


def page_prose(page: str) -> Iterator[Prose]:
    """The text of a page, without its blocks of code."""
    yield Prose(1, re.sub(r"^```.*?^```$", lambda found: "\n" * found[0].count("\n"), page, flags=re.M | re.S))


def problems(prose: Prose) -> Iterator[str]:
    text = prose.text
    for sentence in ALLOWED:
        text = text.replace(sentence, "-" * len(sentence))
    flat = re.sub(r"\n[ \t]*", lambda found: " " * len(found[0]), text)
    squeezed, places = _squeezed(flat)
    for phrase in PHRASES:
        for found in phrase.found(squeezed):
            line = prose.line + text.count("\n", 0, places[found.start()])
            around = squeezed[max(0, found.start() - 40) : found.end() + 30]
            yield f"{line}: {found[0].strip()!r}: write {phrase.instead} (…{around}…)"


def _squeezed(text: str) -> tuple[str, list[int]]:
    """The text with one blank for several, and the place of each character in `text`."""
    places = [n for n, character in enumerate(text) if character != " " or text[n - 1 : n] != " "]
    return "".join(text[n] for n in places), [*places, len(text)]


@cache
def checked() -> tuple[str, ...]:
    return tuple(sorted({file.relative_to(ROOT).as_posix() for pattern in CHECKED for file in ROOT.glob(pattern)}))


def test_the_prose_reads_as_one_would_say_it() -> None:
    found = [f"{name}:{problem}" for name in checked() for problem in problems_of(list(_prose(ROOT / name)))]
    assert not found, "\n" + "\n".join(found)


def problems_of(texts: list[Prose]) -> Iterator[str]:
    """The problems of a file's texts; most files have none, which one search over all of them tells."""
    joined = ". ".join(" ".join(prose.text.split()) for prose in texts)
    if any(next(phrase.found(joined), None) for phrase in PHRASES):
        yield from (problem for prose in texts if " " in prose.text for problem in problems(prose))


def _prose(file: Path) -> Iterator[Prose]:
    text = file.read_text(encoding="utf-8")
    return page_prose(text) if file.suffix == ".md" else code_prose(text)


@pytest.mark.parametrize(
    "text",
    [
        '"""None where there is none."""',
        '"""The answer is no object."""',
        "x = 1  # where one fails, the others\n# anew",
        'f"the call {x} is no\\n  text"',
        '"""An id (of a session, say)."""',
        '"""Where a name is missing, the id is taken."""',
        '"""Sent as it is."""',
    ],
)
def test_foreign_phrases_are_found(text: str) -> None:
    assert [problem for prose in code_prose(text) for problem in problems(prose)]


@pytest.mark.parametrize(
    "text",
    [
        '"""There is no answer."""',
        '"""The folder where it is kept."""',
        '"""It is no longer there; it says where it is."""',
        '"""Where a session is kept."""',
        "value = where is None  # as soon as it is ready",
    ],
)
def test_plain_phrases_are_not(text: str) -> None:
    assert not [problem for prose in code_prose(text) for problem in problems(prose)]
