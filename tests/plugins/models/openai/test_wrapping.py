"""Wrapping: answers that are no objects."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from newel.models.openai.wrapping import Unwrapping, wrapped

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)

#: A loaded machine draws values slowly.
SLOW = settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)


def _unwrapped(pieces: list[str]) -> str:
    unwrapping = Unwrapping()
    return "".join(map(unwrapping.feed, pieces)) + unwrapping.close()


@SLOW
@given(value=_JSON, size=st.integers(1, 9), indent=st.sampled_from([None, 2]))
def test_what_is_inside_comes_out_however_it_is_cut(value: object, size: int, indent: int | None) -> None:
    text = json.dumps({"result": value}, indent=indent)
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    assert json.loads(_unwrapped(pieces)) == value
    assert _unwrapped(pieces) == _unwrapped([text])


@SLOW
@given(st.lists(st.text(max_size=5)))
def test_text_that_is_not_wrapped_passes(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert _unwrapped(["no json: ", *pieces]) == "no json: " + text


def test_a_cut_answer_comes_as_far_as_it_got() -> None:
    assert _unwrapped(['{"result": ["a", ', '"b']) == '["a", "b'
    assert _unwrapped(['{"res']) == '{"res'


def test_definitions_stay_at_the_top() -> None:
    item = {"$ref": "#/$defs/A"}
    made = wrapped({"type": "array", "items": item, "$defs": {"A": {"type": "string"}}})
    assert made["properties"] == {"result": {"type": "array", "items": item}}
    assert made["$defs"] == {"A": {"type": "string"}}
