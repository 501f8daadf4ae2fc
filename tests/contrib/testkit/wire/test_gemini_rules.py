"""What the strict server refuses, as Gemini's service does; `test_gemini_server` has the older rules."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from newel_kernel import Json
from newel_testkit.wire.gemini_rules import refusal
from newel_testkit.wire.gemini_turns import signature

THIRD = "gemini-3-pro-preview"
CALL = {"functionCall": {"name": "weather", "args": {}}, "thoughtSignature": signature("hm")}
RESULT = {"functionResponse": {"name": "weather", "response": {"t": 21}}}
IMAGE = {"inlineData": {"mimeType": "image/png", "data": ""}}
CITY = {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}}
GOOD: Json = {
    "contents": [
        {"role": "user", "parts": [{"text": "x"}]},
        {"role": "model", "parts": [CALL]},
        {"role": "user", "parts": [RESULT]},
    ],
    "tools": [{"functionDeclarations": [{"name": "weather", "parameters": CITY}]}],
}


def spoilt(change: Callable[[Json], Any], model: str = THIRD) -> str:
    body = copy.deepcopy(GOOD)
    change(body)
    return refusal(body, model=model, issued=()) or ""


def config(**fields: Any) -> Callable[[Json], Any]:
    return lambda body: body.update(generationConfig=fields)


def parameters(**schema: Any) -> Callable[[Json], Any]:
    return lambda body: body["tools"][0]["functionDeclarations"][0].update(parameters=schema)


def calling(**fields: Any) -> Callable[[Json], Any]:
    return lambda body: body.update(toolConfig={"functionCallingConfig": fields})


def test_the_good_request_is_taken() -> None:
    assert spoilt(lambda body: None) == ""
    unsigned = spoilt(lambda body: body["contents"][1]["parts"][0].pop("thoughtSignature"), "gemini-2.5-flash")
    assert unsigned == ""


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda b: b["contents"].pop(2), "end with a user role"),
        (lambda b: b["contents"][1]["parts"][0].pop("thoughtSignature"), "missing a `thought_signature`"),
        (lambda b: b["contents"][1]["parts"][0].update(thoughtSignature="QUJD"), "signature is not valid"),
        (lambda b: b["contents"][2]["parts"].append(RESULT), "number of function response parts"),
        (lambda b: b["contents"][0]["parts"][0].update(inlineData={"mimeType": "a/b", "data": ""}), "oneof"),
        (lambda b: b["contents"][0]["parts"][0].update(text="x", colour=1), "Unknown name"),
        (lambda b: b["contents"][2]["parts"][0]["functionResponse"].pop("name"), "Name cannot be empty"),
        (lambda b: b["contents"][2]["parts"][0]["functionResponse"].update(response=3), "must be an object"),
        (lambda b: b["contents"].append({"role": "user", "parts": [CALL]}), "belongs to the role"),
        (lambda b: b.update(systemInstruction={"parts": []}), "must not be empty"),
        (lambda b: b.update(systemInstruction={"parts": [IMAGE]}), "Only text"),
        (lambda b: b["tools"][0]["functionDeclarations"][0].update(parametersJsonSchema=CITY), "mutually exclusive"),
        (parameters(properties={}), "type should be specified"),
        (parameters(type="OBJECT", properties={}), "should be non-empty"),
        (parameters(type="OBJECT", properties={"a": {"type": "ARRAY"}}), "items: missing field"),
        (parameters(type="OBJECT", properties={"a": {"type": "INTEGER", "enum": ["1"]}}), "only allowed for STRING"),
        (parameters(type="OBJECT", properties={"a": {"type": "STRING"}}, required=["b"]), "'b' is not defined"),
        (calling(mode="SOMETIMES"), "Invalid value at 'tool_config"),
        (calling(mode="AUTO", allowedFunctionNames=["weather"]), "mode is ANY"),
        (calling(mode="ANY", allowedFunctionNames=["zz"]), "zz is not declared"),
        (config(thinkingConfig={"thinkingBudget": 1, "thinkingLevel": "LOW"}), "only one of thinking budget"),
        (config(responseSchema={"type": "OBJECT"}), "needs the response_mime_type"),
        (config(responseMimeType="application/json", responseJsonSchema={"type": "OBJECT"}), "not a type of JSON"),
        (config(stopSequences=list("abcdef")), "at most 5"),
        (config(temperature=3), "out of range"),
        (lambda b: b.update(safetySettings=[{"category": "x", "threshold": "y"}]), "value at 'safety_settings'"),
    ],
)
def test_what_is_refused(change: Callable[[Json], Any], reason: str) -> None:
    assert reason in spoilt(change)


def test_older_models_take_less() -> None:
    assert "Thinking level" in spoilt(config(thinkingConfig={"thinkingLevel": "LOW"}), "gemini-2.5-flash")
    assert "unsupported" in spoilt(config(responseMimeType="application/json"), "gemini-2.5-flash")
    inside: Callable[[Json], Any] = lambda b: b["contents"][2]["parts"][0]["functionResponse"].update(parts=[IMAGE])  # noqa: E731
    assert "Multimodal" in spoilt(inside, "gemini-2.5-flash")
    assert spoilt(inside) == ""


def test_stand_ins_and_signatures_that_were_given_are_valid() -> None:
    def signed(value: str) -> Callable[[Json], Any]:
        return lambda b: b["contents"][1]["parts"][0].update(thoughtSignature=value)

    assert spoilt(signed("skip_thought_signature_validator")) == ""
    body = copy.deepcopy(GOOD)
    signed("QUJD")(body)
    assert refusal(body, model=THIRD, issued={b"ABC"}) is None
