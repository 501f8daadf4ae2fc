"""History: what Gemini reads of a conversation that other providers took part in, or that was cut."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newel.models.capabilities import capabilities_of
from newel.models.google.history import STAND_IN, Dialect, History
from newel.models.google.requests import on_wire
from newel.models.wire.signatures import signed
from newel_types import Content, FunctionCall, FunctionResponse, FunctionResponsePart, Part

OLD = Dialect.of(capabilities_of("gemini", "gemini-2.5-flash"), vertex=False)
THIRD = Dialect.of(capabilities_of("gemini", "gemini-3-pro-preview"), vertex=False)


def user(*parts: Part | str) -> Content:
    return Content(role="user", parts=[Part(text=one) if isinstance(one, str) else one for one in parts])


def model(*parts: Part | str) -> Content:
    return Content(role="model", parts=list(user(*parts).parts or ()))


def called(name: str, call_id: str | None = None) -> Part:
    return Part(function_call=FunctionCall(id=call_id, name=name, args={}))


def result(name: str, value: Any, call_id: str | None = None, **more: Any) -> Part:
    return Part(function_response=FunctionResponse(id=call_id, name=name, response={"value": value}, **more))


def test_foreign_signatures_are_replaced() -> None:
    """Test of the documented stand-in: on the first call of each step only."""
    thought = signed(Part(text="Hm", thought=True), "anthropic", "sig")
    first = signed(called("add", "c1"), "anthropic", "sig")
    contents = [user("hi"), model(thought, first, called("add", "c2")), user(result("add", 1, "c1"))]
    [_, step, _] = on_wire(contents, THIRD)
    assert [part.get("thoughtSignature") for part in step["parts"]] == [STAND_IN, None]
    assert [next(iter(part)) for part in step["parts"]] == ["functionCall", "functionCall"]
    [_, step, _] = on_wire(contents, OLD)
    assert all("thoughtSignature" not in part and "partMetadata" not in part for part in step["parts"])


def test_signature_on_the_first_parallel_call_only() -> None:
    own = called("add", "c1")
    own.thought_signature = b"gemini:\xff"
    [step] = on_wire([model(own, called("add", "c2"))], THIRD)
    assert [part.get("thoughtSignature") for part in step["parts"]] == ["Z2VtaW5pOv8=", None]


def test_thought_parts_without_text() -> None:
    part = Part(thought=True, thought_signature=b"gemini:\xff")
    assert on_wire([model(part)], OLD)[0]["parts"] == [
        {"thought": True, "thoughtSignature": "Z2VtaW5pOv8=", "text": ""}
    ]


def test_results_in_the_order_of_calls_without_ids() -> None:
    contents = [
        model(called("add"), called("sub"), called("add")),
        user(result("add", 1), result("add", 2), result("sub", 3)),
    ]
    names = [part["functionResponse"]["response"]["value"] for part in on_wire(contents, OLD)[1]["parts"]]
    assert names == [1, 3, 2]


@pytest.mark.parametrize(("dialect", "inside"), [(OLD, False), (THIRD, True)])
def test_multimodal_results_by_model(dialect: Dialect, inside: bool) -> None:
    media = FunctionResponsePart.model_validate({"inline_data": {"mime_type": "image/png", "data": b"x"}})
    wire = on_wire([model(called("shot", "c1")), user(result("shot", 1, "c1", parts=[media]))], dialect)[1]["parts"]
    assert ("parts" in wire[0]["functionResponse"]) is inside
    assert any("inlineData" in part for part in wire) is not inside


def test_calls_without_result_get_one_in_the_turn_after_them() -> None:
    contents = [user("hi"), model(called("add", "c1"), called("add", "c2")), user(result("add", 1, "c2")), model("ok")]
    wire = on_wire(contents, OLD)
    assert [part["functionResponse"]["id"] for part in wire[2]["parts"]] == ["c1", "c2"]
    assert "no result" in wire[2]["parts"][0]["functionResponse"]["response"]["error"]
    assert [content["role"] for content in wire] == ["user", "model", "user", "model"]


def test_a_second_result_of_a_call_is_left_out() -> None:
    contents = [model(called("add", "c1")), user(result("add", 1, "c1")), user(result("add", 2, "c1"), "and?")]
    wire = on_wire(contents, OLD)
    assert [part for content in wire[1:] for part in content["parts"] if "functionResponse" in part] == wire[1]["parts"]
    assert wire[2]["parts"] == [{"text": "and?"}]


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.lists(st.integers(0, 3), max_size=3), st.booleans()), max_size=10))
def test_results_stand_right_behind_the_turn_of_their_calls(history: list[tuple[bool, list[int], bool]]) -> None:
    contents, number = [], 0
    for is_model, numbers, speaks in history:
        ids = [f"c{n}" for n in dict.fromkeys(numbers)]
        if is_model:  # an id may come back in a later turn
            parts = [called("act", f"{one}-{number}") for one in ids]
            number += bool(ids)
        else:
            parts = [result("act", len(contents), f"{one}-{number - 1}") for one in ids]
        if parts or speaks:
            words = [Part(text=f"text {len(contents)}")] if speaks else []
            contents.append(Content(role="model" if is_model else "user", parts=words + parts))
    whole = History(THIRD)
    for content in contents:
        grown = whole.copy()
        before = list(map(str, whole.contents))
        grown.add(content)
        assert list(map(str, whole.contents)) == before
        whole = grown
    whole.close()
    wire = whole.contents
    kinds = [[next(key for key in part if key != "thoughtSignature") for part in one["parts"]] for one in wire]
    for index, one in enumerate(wire):
        calls = [part["functionCall"]["id"] for part in one["parts"] if "functionCall" in part]
        results = wire[index + 1]["parts"][: len(calls)] if calls else []
        assert [part["functionResponse"]["id"] for part in results] == calls
        assert "functionResponse" not in kinds[index][kinds[index].count("functionResponse") :]
        assert index == 0 or one["role"] == "user" or wire[index - 1]["role"] == "user"
    texts = [part.text for content in contents for part in content.parts or () if part.text]
    assert [part["text"] for one in wire for part in one["parts"] if "text" in part] == texts
    assert sum(kind.count("functionCall") for kind in kinds) == sum(kind.count("functionResponse") for kind in kinds)
