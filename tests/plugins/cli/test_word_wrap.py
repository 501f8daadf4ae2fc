"""Lines on a terminal end between words, however the text is cut into chunks."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from newel.cli import word_wrap
from newel.cli.word_wrap import WordWrap, width, wrapped

WIDE = 20


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDE))
    monkeypatch.setattr(word_wrap, "sys", SimpleNamespace(stdout=SimpleNamespace(isatty=lambda: True)))


def screen(written: str) -> list[str]:
    """The lines that a terminal shows: it moves back, erases, and begins lines."""
    lines, column = [""], 0
    for back, erase, character in re.findall(r"\x1b\[(\d+)D|(\x1b\[K)|(.|\n)", written):
        if back:
            column -= int(back)
        elif erase:
            lines[-1] = lines[-1][:column]
        elif character == "\n":
            lines.append("")
            column = 0
        else:
            lines[-1] = lines[-1][:column] + character
            column += 1
    return lines


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    words=st.lists(st.text("abcxyz", min_size=1, max_size=WIDE - 1), max_size=12),
    cuts=st.lists(st.integers(1, 7), min_size=1, max_size=40),
)
def test_no_word_is_cut(words: list[str], cuts: list[int]) -> None:
    text = " ".join(words)
    wrap, written, rest = WordWrap(), "", text
    for cut in [*cuts, len(text)]:
        written += wrap.add(rest[:cut])
        rest = rest[cut:]
    shown = screen(written)
    assert " ".join(shown).split() == words
    assert all(width(line) <= WIDE for line in shown)
    assert wrapped(text).split() == words
    assert all(width(line) < WIDE for line in wrapped(text).split("\n"))


def test_a_chunk_is_written_at_once() -> None:
    assert WordWrap().add("think") == "think"


def test_a_word_longer_than_a_line_is_left_to_the_terminal() -> None:
    assert wrapped("x" * 50) == "x" * 50


def test_line_breaks_stay() -> None:
    assert wrapped("one\n\n  two") == "one\n\n  two"


def test_where_no_terminal_is_text_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert WordWrap().add("x " * 100) == "x " * 100
