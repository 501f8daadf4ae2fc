"""What a document says, as a model reads it."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from newel.mcp.texts import cleaned as cleaned_of_mcp
from newel.openapi.texts import cleaned


@given(st.text(max_size=200) | st.text(st.sampled_from("a\u202e\u200b\ufe0f\U000e0041\U000e0101\r\n\t"), max_size=50))
def test_nothing_invisible_is_left_and_mcp_has_the_same_rule(text: str) -> None:
    made = cleaned(text)
    assert made == cleaned_of_mcp(text)
    assert all(c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Co", "Cs", "Cn") for c in made)
    assert not any("\ufe00" <= c <= "\ufe0f" or "\U000e0100" <= c <= "\U000e01ef" for c in made)


def test_it_is_bounded_and_anything_but_a_text_is_empty() -> None:
    assert (cleaned("abc", 2), cleaned(None), cleaned({"a": 1})) == ("ab…", "", "")
