"""Edits between two documents: applied to the first one, they make the second."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from newel.explanation import Change, applied, changes_between

_LEAVES = st.none() | st.booleans() | st.integers(-2, 2) | st.floats(allow_nan=False) | st.text(max_size=3)
_DOCUMENTS = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["a", "b/c", "~1", ""]), inner),
    max_leaves=12,
)


@given(_DOCUMENTS, _DOCUMENTS)
def test_applied_to_the_first_they_make_the_second(before: Any, after: Any) -> None:
    changes = changes_between(before, after)
    assert json.dumps(applied(before, changes), sort_keys=True) == json.dumps(after, sort_keys=True)
    assert (changes == []) == (json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True))


@given(st.lists(st.integers(0, 3)), st.lists(st.integers(0, 3)), st.lists(st.integers(0, 3), min_size=1))
def test_what_was_inserted_is_only_added(start: list[int], end: list[int], new: list[int]) -> None:
    changes = changes_between({"x": start + end}, {"x": start + new + end})
    assert [change.op for change in changes] == ["add"] * len(new)


def test_an_edit_says_what_was_there() -> None:
    assert changes_between({"a": [{"text": "x"}], "b": 1}, {"a": [{"text": "y"}]}) == [
        Change("remove", "/b", before=1),
        Change("replace", "/a/0/text", "x", "y"),
    ]
    assert Change("replace", "/a", None, 1).as_json() == {"op": "replace", "path": "/a", "before": None, "value": 1}
    assert Change("add", "/a", after=None).as_json() == {"op": "add", "path": "/a", "value": None}
