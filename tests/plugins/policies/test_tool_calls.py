"""tool_calls: what a model writes is stored, read back and used as plain data, however hostile."""

from __future__ import annotations

from typing import Any

import pytest

from newel_kernel import LlmResponse
from newel_types import Content, FunctionCall, Part


def deep(levels: int) -> Any:
    value: Any = "end"
    for _ in range(levels):
        value = {"in": value}
    return value


async def brew(leaf: str, grams: int = 3) -> str:
    """Brews."""
    return f"{leaf}, {grams}"


def called(**fields: Any) -> Part:
    return Part(function_call=FunctionCall(**fields))


@pytest.mark.parametrize(
    ("args", "stored", "told"),
    [
        ({"leaf": "gr\ud800en\x00"}, {"leaf": "gr\ufffden\ufffd"}, "gr\ufffden\ufffd, 3"),
        ({"leaf": "\ud83c\udf75", "grams": 4}, {"leaf": "\U0001f375", "grams": 4}, "\U0001f375, 4"),
        ({"leaf": "green", "x\x00": 1}, {"leaf": "green", "x\ufffd": 1}, "green, 3"),
        ({"leaf": "green", "grams": "5"}, {"leaf": "green", "grams": "5"}, "green, 5"),
        ({"leaf": "green", "self": 1, "tool_context": {"state": {}}}, None, "green, 3"),
        ({"leaf": "green", "odd": {1, 2}}, {"leaf": "green", "odd": [1, 2]}, "green, 3"),
    ],
    ids=["surrogate and NUL", "halves", "key", "number as text", "injected names", "set"],
)
def test_arguments(ask: Any, args: Any, stored: Any, told: str) -> None:
    outcome = ask([called(name="brew", args=args)], tools=[brew])
    assert outcome.calls[0].args == (args if stored is None else stored)
    assert outcome.result == {"result": told}


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (deep(150), "nested deeper than 64 levels"),
        ({"leaf": [0] * 300_000}, "holds more than 200000 values"),
        (["green"], "a JSON object, not list"),
    ],
    ids=["deep", "many", "list"],
)
def test_arguments_that_cannot_be_used(ask: Any, args: Any, problem: str) -> None:
    outcome = ask([called(name="brew", args=args)], tools=[brew])
    assert problem in outcome.calls[0].args["unusable"]
    assert "mandatory input parameters" in outcome.result["error"]
    assert outcome.said == "done"


def test_no_arguments(ask: Any) -> None:
    outcome = ask([called(name="brew")], tools=[brew])
    assert outcome.calls[0].args in ({}, None)
    assert "leaf" in outcome.result["error"]


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        (None, ""),
        ("", ""),
        ("__class__", "__class__"),
        ("../brew\x00", "../brew\ufffd"),
        ("br\ud800w", "br\ufffdw"),
        ("x" * 5_000, "x" * 200),
    ],
    ids=["none", "empty", "dunder", "NUL", "surrogate", "long"],
)
def test_names(ask: Any, name: Any, stored: str) -> None:
    outcome = ask([called(name=name, args={"leaf": "green"})], tools=[brew])
    assert outcome.calls[0].name == stored
    assert f"Tool '{stored}' not found" in outcome.result["error"]
    assert outcome.said == "done"


def test_ids(ask: Any) -> None:
    calls = [called(name="brew", args={"leaf": leaf}, id=id) for leaf, id in (("a", "i\x00"), ("b", "i\ud800"))]
    outcome = ask(calls, tools=[brew])
    ids = [call.id for call in outcome.calls]
    assert ids[0] == "i\ufffd"
    assert len(set(ids)) == 2
    answered = [r.id for event in outcome.session.events for r in event.get_function_responses()]
    assert answered == ids
    assert outcome.results == [{"result": "a, 3"}, {"result": "b, 3"}]


def test_texts(ask: Any, call: Any) -> None:
    said = [Part(text="a\x00b \ud800"), call("brew", leaf="green")]
    outcome = ask(said, tools=[brew])
    assert outcome.session.events[1].content.parts[0].text == "a\ufffdb \ufffd"


def test_an_error_message(ask: Any) -> None:
    content = Content(role="model", parts=[Part(text="sorry")])
    outcome = ask(LlmResponse(content=content, error_code="ODD", error_message="a\x00\ud800"))
    assert outcome.session.events[1].error_message == "a\ufffd\ufffd"


def test_without_the_policy_names_and_arguments_are_the_models(ask: Any) -> None:
    outcome = ask([called(name="brew", args={"leaf": "a\x00"})], tools=[brew], without=["tool_calls", "tool_results"])
    assert outcome.calls[0].args == {"leaf": "a\x00"}
    assert ask([called(name="brew", args={"leaf": "a\x00"})], tools=[brew], base="adk").result == {"result": "a\x00, 3"}
