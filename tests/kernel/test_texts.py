"""Texts of all planes of Unicode, cut anywhere: what is well-formed stays, and a half is replaced."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from newel_types import well_formed

#: Any code points, the halves of characters too.
ANY = st.text(st.characters(codec=None, exclude_categories=()), max_size=12)
NESTED = st.recursive(
    ANY | st.integers() | st.none(), lambda one: st.lists(one) | st.dictionaries(ANY, one), max_leaves=6
)


def _storable(value: Any) -> bool:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode() == value
    if isinstance(value, dict):
        return all(_storable(key) and _storable(one) for key, one in value.items())
    return all(map(_storable, value)) if isinstance(value, list) else True


@given(ANY)
def test_a_text_is_well_formed_afterwards_and_unchanged_if_it_was(text: str) -> None:
    result = well_formed(text)
    assert result.encode() is not None
    halves = any("\ud800" <= character <= "\udfff" for character in text)
    assert (result == text) is not halves


@given(NESTED)
def test_values_keep_their_shape(value: Any) -> None:
    result = well_formed(value)
    assert _storable(result)
    assert well_formed(result) is result
    if _storable(value):
        assert result is value


def test_halves_next_to_each_other_are_joined() -> None:
    assert well_formed("\ud83d\ude00") == "\U0001f600"
    assert well_formed(["a\ud835b", {"k\udc00": 1}]) == ["a\ufffdb", {"k\ufffd": 1}]


def test_what_is_no_json_is_left_alone() -> None:
    thing = object()
    assert well_formed([thing, {1}])[0] is thing
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    assert well_formed(deep) is not None
