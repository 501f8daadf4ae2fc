"""Settings of a request as the Responses API has them, through the real SDK, judged by a strict server."""

from __future__ import annotations

from typing import Any

import pytest

from newel_testkit.wire.caller import Caller, tools, user
from newel_types import FunctionCallingConfig, ThinkingConfig, ThinkingLevel, ToolConfig

CITY: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}}


def said(caplog: pytest.LogCaptureFixture) -> str:
    return "\n".join(record.getMessage() for record in caplog.records if record.name == "newel.models")


def test_strict_defaults_to_true(responses: Caller) -> None:
    free = {"type": "object", "properties": {"any": {"type": "object"}}}
    listed = responses.sent(user("Hi"), tools=tools(weather=CITY, save=free))["tools"]
    assert [tool["strict"] for tool in listed] == [True, False]
    assert "function" not in listed[0]


def test_text_format_is_flat(responses: Caller) -> None:
    shape = responses.sent(user("Hi"), response_schema=CITY)["text"]["format"]
    assert set(shape) == {"type", "name", "schema", "strict"}
    body = responses.sent(user("Hi"), response_mime_type="application/json")
    assert body["text"] == {"format": {"type": "json_object"}}
    assert "JSON" in body["instructions"]


def test_parameters_of_chat_do_not_leave(responses: Caller, caplog: pytest.LogCaptureFixture) -> None:
    settings: dict[str, Any] = {"stop_sequences": ["x"], "seed": 1, "presence_penalty": 0.5, "top_k": 3}
    body = responses.sent(user("Hi"), max_output_tokens=5, **settings)
    assert set(body) == {"model", "input", "store", "max_output_tokens"}
    assert body["max_output_tokens"] == 16
    for name in settings:
        assert f"the protocol has no {name}" in said(caplog)


def test_reasoning_only_for_reasoning_models(responses: Caller, caplog: pytest.LogCaptureFixture) -> None:
    high = ThinkingConfig(thinking_level=ThinkingLevel.HIGH, include_thoughts=True)
    body = responses.sent(user("Hi"), name="gpt-5", thinking_config=high, temperature=0.3)
    assert body["reasoning"] == {"effort": "high", "summary": "auto"}
    assert "temperature" not in body
    assert "reasoning" not in responses.sent(user("Hi"), thinking_config=high)
    assert "thinking cannot be configured" in said(caplog)


@pytest.mark.parametrize(
    ("names", "choice"),
    [
        ((), "required"),
        (("a",), {"type": "function", "name": "a"}),
        (
            ("a", "b"),
            {
                "type": "allowed_tools",
                "mode": "required",
                "tools": [{"type": "function", "name": "a"}, {"type": "function", "name": "b"}],
            },
        ),
    ],
)
def test_tool_choice_is_flat(names: tuple[str, ...], choice: Any, responses: Caller) -> None:
    calling = FunctionCallingConfig.model_validate({"mode": "ANY", "allowed_function_names": list(names) or None})
    config = ToolConfig(function_calling_config=calling)
    assert responses.sent(user("Hi"), tools=tools("a", "b", "c"), tool_config=config)["tool_choice"] == choice


def test_log_probabilities_are_included(responses: Caller) -> None:
    body = responses.sent(user("Hi"), logprobs=2)
    assert (body["include"], body["top_logprobs"]) == (["message.output_text.logprobs"], 2)


def test_instructions_are_apart(responses: Caller) -> None:
    assert responses.sent(user("Hi"), system_instruction="Be brief.")["instructions"] == "Be brief."
