"""Pickled actions are read as plain values, whatever bytes they are."""

from __future__ import annotations

import pickle
import sys
from contextlib import suppress
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newel_adk.sessions.pickles import PickleError, read_actions

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def pickled(fields: dict[str, Any], protocol: int) -> bytes:
    """Actions as pydantic pickles them, of a class that is there only meanwhile."""
    module = ModuleType("google.adk.events.event_actions")

    class EventActions:
        def __getstate__(self) -> dict[str, Any]:
            return {"__dict__": fields, "__pydantic_extra__": None, "__pydantic_fields_set__": set(fields)}

    EventActions.__module__, EventActions.__qualname__ = module.__name__, "EventActions"
    module.EventActions = EventActions  # type: ignore[attr-defined]
    with pytest.MonkeyPatch.context() as patch:
        for name in ("google.adk", "google.adk.events"):
            patch.setitem(sys.modules, name, ModuleType(name))
        patch.setitem(sys.modules, module.__name__, module)
        return pickle.dumps(EventActions(), protocol)


@given(st.dictionaries(st.text(), VALUES, max_size=5), st.integers(3, 5))
def test_plain_values_are_what_was_pickled(delta: dict[str, Any], protocol: int) -> None:
    data = pickled({"state_delta": delta, "escalate": True, "transfer_to_agent": None}, protocol)
    assert read_actions(data) == {"state_delta": delta, "escalate": True}


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with suppress(PickleError):
        assert isinstance(read_actions(data), dict)


@given(st.integers(0, 250), st.binary(min_size=1, max_size=8))
def test_any_damage_is_read_or_refused(place: int, other: bytes) -> None:
    whole = pickled({"state_delta": {"n": [1, 2.5, "x"], "d": {"e": None}}}, 4)
    data = whole[:place] + other + whole[place + len(other) :]
    with suppress(PickleError):
        assert isinstance(read_actions(data), dict)


def bomb() -> bytes:
    """Lists of the same list: some hundred bytes that name 10 ** 40 values."""
    value: list[Any] = []
    for _ in range(40):
        value = [value] * 10
    return pickle.dumps({"a": value})


def itself() -> bytes:
    value: dict[str, Any] = {}
    value["a"] = value
    return pickle.dumps(value)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "damaged"),
        (b"\x80\x04N.", "NoneType, not actions"),
        (b"cos\nsystem\n(S'x'\ntR.", "'os.system'"),
        (b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93.", "'builtins.eval'"),
        (b"\x80\x02cbuiltins\ndict\n.", "a class where a value should be"),
        (b"\x80\x04\x82\x01.", "the operation EXT1 is not supported"),
        (b"\x80\x04}\x8c\x01aP1\ns.", "the operation PERSID is not supported"),
        (bomb(), "more than 1,000,000 values"),
        (itself(), "contains itself"),
    ],
)
def test_what_is_no_actions_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(PickleError, match=reason):
        read_actions(data)
