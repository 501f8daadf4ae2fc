"""Rare fields: read, written, copied and stored as any other, and kept in one bag."""

from __future__ import annotations

import pickle

import pytest

from newel_kernel import NOTHING_RARE, LlmResponse
from newel_kernel import Event, freeze_event
from newel_types import Content, Part
from newel_types import FrozenError


def test_objects_without_rare_values_share_one_bag() -> None:
    assert Event(author="a").bag is LlmResponse().bag is NOTHING_RARE
    assert Event.model_validate({"author": "a"}).bag is NOTHING_RARE
    assert Event(author="a").model_copy(deep=True).bag is NOTHING_RARE
    assert Event(author="a").error_code is None


def test_a_value_is_one_object_s_own() -> None:
    told, silent = LlmResponse(error_code="X"), LlmResponse()
    silent.interrupted = True
    told.error_message = "why"
    assert (told.error_code, told.error_message, told.interrupted) == ("X", "why", None)
    assert (silent.error_code, silent.interrupted) == (None, True)
    assert NOTHING_RARE.error_code is None  # type: ignore[attr-defined]
    assert Event().error_code is None


def test_a_copy_has_a_bag_of_its_own() -> None:
    event = Event(author="a", cache_metadata={"k": [1]})
    shallow, deep = event.model_copy(), event.model_copy(deep=True)
    shallow.error_code = "X"
    deep.cache_metadata["k"].append(2)
    assert event.error_code is None
    assert event.cache_metadata == {"k": [1]}
    assert pickle.loads(pickle.dumps(deep)) == deep
    assert deep != event


def test_a_committed_event_refuses_them_too() -> None:
    event = freeze_event(Event(author="a", content=Content(role="model", parts=[Part(text="x")])))
    with pytest.raises(FrozenError, match="error_code"):
        event.error_code = "X"


@pytest.mark.parametrize("made", [LlmResponse, Event])
def test_an_unknown_field_is_refused(made: type[LlmResponse]) -> None:
    with pytest.raises(TypeError, match=r"unexpected keyword argument\(s\): colour"):
        made(error_code="X", colour="red")
