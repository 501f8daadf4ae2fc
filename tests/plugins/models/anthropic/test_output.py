"""Answers in a JSON schema: the output format, the tool that must be called, and what is unwrapped."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from newel import types
from newel_kernel import Json, LlmResponse
from newel_testkit.wire import Answer
from newel_testkit.wire.caller import Caller, tools, user

OLD = "claude-3-5-sonnet-20241022"
JSON = "application/json"


class City(BaseModel):
    name: str = Field(description="NAME")
    people: int = Field(default=0, ge=0)


class Tree(BaseModel):
    children: list[Tree] = []


def _format(body: Json) -> Any:
    return body["output_config"]["format"]["schema"]


def _text(response: LlmResponse) -> str:
    assert response.content is not None
    return "".join(part.text or "" for part in response.content.parts or () if not part.thought)


def test_output_format_is_native_where_the_model_has_it(claude: Caller) -> None:
    gemini = types.Schema(type="OBJECT", properties={"name": types.Schema(type="STRING")}, required=["name"])
    plain = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    for config in ({"response_schema": gemini}, {"response_json_schema": plain}, {"response_schema": City}):
        body = claude.sent(user("Hi"), response_mime_type=JSON, **config)
        assert body["output_config"]["format"]["type"] == "json_schema"
        schema = _format(body)
        assert schema["additionalProperties"] is False
        assert schema["properties"]["name"]["type"] == "string"
        assert "tools" not in body
        assert claude.sent(user("Hi"), tools=tools("f"), **config)["output_config"]


def test_bounds_move_into_descriptions_and_are_said(claude: Caller, caplog: pytest.LogCaptureFixture) -> None:
    schema: Json = {
        "type": "object",
        "properties": {
            "bare": {"type": "integer", "minimum": 0, "maximum": 9},
            "told": {"type": "string", "description": "TOLD", "maxLength": 3},
            "list": {"type": "array", "items": {"type": "number", "multipleOf": 2}, "minItems": 2},
            "some": {"type": "array", "items": {"oneOf": [{"type": "string"}, {"type": "null"}]}, "minItems": 1},
            "when": {"type": "string", "format": "date-time"},
        },
    }
    body = claude.sent(user("Hi"), response_json_schema=schema)
    properties = _format(body)["properties"]
    assert properties["bare"] == {"type": "integer", "description": "minimum 0, maximum 9"}
    assert properties["told"] == {"type": "string", "description": "TOLD"}
    assert "told: maxLength 3" in body["system"][0]["text"]
    assert properties["list"]["items"]["description"] == "multipleOf 2"
    assert properties["some"]["minItems"] == 1
    assert properties["when"]["format"] == "date-time"
    assert len(caplog.records) == 1


@pytest.mark.parametrize("stream", [False, True])
def test_a_list_or_scalar_is_wrapped_and_unwrapped(claude: Caller, stream: bool) -> None:
    for schema, value in ((list[int], [1, 2]), (Literal["a", "b"], "a"), (City | None, {"name": "Rome", "people": 1})):
        wrapped = Answer(parts=({"text": json.dumps({"result": value})},))
        responses = claude.ask(user("Hi"), steps=wrapped, response_schema=schema, stream=stream)
        assert _format(claude.server.bodies[-1])["required"] == ["result"]
        assert json.loads(_text(responses[-1])) == value
        if stream:
            assert "".join(map(_text, responses[:-1])) == _text(responses[-1])


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("name", "schema"), [(OLD, City), (OLD, list[City]), ("claude-opus-5", dict[str, int]), ("claude-opus-5", Tree)]
)
def test_else_a_tool_must_be_called(claude: Caller, name: str, schema: Any, stream: bool) -> None:
    value: Any = [{"name": "Rome"}] if schema == list[City] else {"name": "Rome"}
    args = {"result": value} if schema == list[City] else value
    words = {"text": "Here you are:"}
    answer = Answer(parts=(words, {"call": {"id": "a", "name": "final_answer", "args": args}}), stop="tool")
    final = claude.answered(answer, stream=stream, name=name, response_schema=schema)
    body = claude.server.bodies[-1]
    assert body["tool_choice"] == {"type": "tool", "name": "final_answer"}
    assert "output_config" not in body
    assert json.loads(_text(final)) == value
    assert final.content is not None
    assert not any(part.function_call for part in final.content.parts or ())


def test_the_tool_stands_beside_others(claude: Caller) -> None:
    body = claude.sent(user("Hi"), name=OLD, response_schema=City, tools=tools("f"))
    assert [tool["name"] for tool in body["tools"]] == ["f", "final_answer"]
    assert body["tool_choice"] == {"type": "any"}
    none = {"function_calling_config": {"mode": "NONE"}}
    body = claude.sent(user("Hi"), name=OLD, response_schema=City, tools=tools("f"), tool_config=none)
    assert body["tool_choice"] == {"type": "tool", "name": "final_answer"}
    thinks = claude.sent(
        user("Hi"), name="claude-sonnet-4-0", response_schema=City, thinking_config={"thinking_budget": 2048}
    )
    assert "tool_choice" not in thinks
    assert "final_answer" in thinks["system"][-1]["text"]


def test_json_without_a_schema_is_asked_for_in_words(claude: Caller) -> None:
    body = claude.sent(user("Hi"), response_mime_type=JSON, system_instruction="Be brief.")
    assert body["system"][0]["text"] == "Be brief."
    assert "JSON" in body["system"][1]["text"]
    assert "output_config" not in body
