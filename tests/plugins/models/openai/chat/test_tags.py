"""Tags: thoughts within the text."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from newel.models.openai.chat.tags import ThinkTags

#: A loaded machine draws values slowly.
SLOW = settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)


def _told(pieces: list[str]) -> tuple[str, str]:
    tags = ThinkTags()
    found = [one for piece in pieces for one in tags.feed(piece)] + tags.close()
    return "".join(text for text, thought in found if thought), "".join(text for text, thought in found if not thought)


@SLOW
@given(size=st.integers(1, 9))
def test_thoughts_are_told_from_text_however_it_is_cut(size: int) -> None:
    text = "\n<think>\nHm,\n 1 < 2 </thin?\n</think>\n\nIt is <think>2</think>."
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    thoughts, rest = _told(pieces)
    assert thoughts == "Hm,\n 1 < 2 </thin?"
    assert rest == "It is <think>2</think>."


@pytest.mark.parametrize("text", ["", " ", "<", "<thin", "<b>bold</b>", "A <think>no</think>"])
def test_other_text_passes(text: str) -> None:
    assert _told([*text]) == ("", text)


def test_a_thought_that_never_ends_is_one() -> None:
    assert _told(["<think>Hm", "m </thi"]) == ("Hmm </thi", "")
