"""Names that a client chose cannot forge lines of a command's output."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newel.cli.terminal import say, show_table, shown

FORGED = "s1\nevil of root: ok\r\x1b[2K\u202etxt\u2066\u2028\x85\u200b\x00\ud800"


def test_a_name_is_one_line_without_hidden_characters() -> None:
    assert shown(FORGED) == ("s1\\nevil of root: ok\\r\\x1b[2K\\u202etxt\\u2066\\u2028\\x85\\u200b\\x00\\ud800")
    assert shown("Ann-Zoë 日本 \U0001f468\u200d\U0001f469") == "Ann-Zoë 日本 \U0001f468\u200d\U0001f469"


@given(st.text())
def test_no_text_breaks_a_line_or_cannot_be_written(text: str) -> None:
    one = shown(text)
    assert len(one.splitlines()) <= 1
    one.encode()
    assert not any(character in one for character in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200f")


def test_a_cell_of_a_table_stays_in_its_row(capsys: pytest.CaptureFixture[str]) -> None:
    show_table("t", ("id", "user"), [[FORGED[:8], "ann"]])
    say(f"{shown(FORGED)} of ann: ok")
    lines = [line for line in capsys.readouterr().out.splitlines() if "evil" in line or "s1" in line]
    assert len(lines) == 2
