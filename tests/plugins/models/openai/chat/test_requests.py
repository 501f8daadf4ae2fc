"""Settings of a request as Chat Completions has them, through the real SDK, judged by a strict server."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from newel.models.openai import OpenAILlm, Profile
from newel_testkit.wire.caller import Caller, tools, user
from newel_types import FunctionCallingConfig, ThinkingConfig, ThinkingLevel, ToolConfig

CITY: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}


def chosen(mode: str, *names: str) -> ToolConfig:
    calling = FunctionCallingConfig.model_validate({"mode": mode, "allowed_function_names": list(names) or None})
    return ToolConfig(function_calling_config=calling)


def lab(chat: Caller, **profile: Any) -> OpenAILlm:
    made = Profile(base_url=chat.server.base["compatible"], **profile)
    return OpenAILlm(model="m", endpoint="lab", profile=made)


def said(caplog: pytest.LogCaptureFixture) -> str:
    return "\n".join(record.getMessage() for record in caplog.records if record.name == "newel.models")


class Found(BaseModel):
    name: str
    tags: list[str] = []


def test_strict_where_the_schema_allows(chat: Caller) -> None:
    free = {"type": "object", "properties": {"any": {"type": "object"}}}
    body = chat.sent(user("Hi"), tools=tools(weather={**CITY, "required": ["city"]}, save=free))
    strict, loose = (tool["function"] for tool in body["tools"])
    assert strict["strict"] is True
    assert strict["parameters"]["properties"]["days"]["type"] == ["integer", "null"]
    assert "strict" not in loose


def test_defaults_are_said_in_the_description(chat: Caller) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "default": 3}}}
    assert chat.sent(user("Hi"), tools=tools(a=schema))["tools"][0]["function"]["description"].endswith("n = 3.")


def test_optional_parameters_are_absent_not_null(chat: Caller) -> None:
    body = chat.sent(user("Hi"), tool_config=chosen("ANY"))
    assert body == {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}]}
    assert set(chat.sent(user("Hi"), tools=tools("a"))) == {"model", "messages", "tools"}


def test_allowed_tools(chat: Caller) -> None:
    def choice(config: ToolConfig, **more: Any) -> Any:
        return chat.sent(user("Hi"), tools=tools("a", "b", "c"), tool_config=config, **more)["tool_choice"]

    assert choice(chosen("AUTO")) == "auto"
    assert choice(chosen("NONE")) == "none"
    assert choice(chosen("ANY")) == "required"
    assert choice(chosen("ANY", "a")) == {"type": "function", "function": {"name": "a"}}
    allowed = choice(chosen("ANY", "a", "b"))["allowed_tools"]
    assert (allowed["mode"], [tool["function"]["name"] for tool in allowed["tools"]]) == ("required", ["a", "b"])


def test_an_endpoint_without_allowed_tools_gets_only_those(chat: Caller) -> None:
    more = {"tools": tools("a", "b", "c"), "tool_config": chosen("ANY", "a", "b")}
    body = chat.sent(user("Hi"), llm=lab(chat), **more)
    assert [tool["function"]["name"] for tool in body["tools"]] == ["a", "b"]
    assert body["tool_choice"] == "required"


def test_reasoning_models_parameters(chat: Caller, caplog: pytest.LogCaptureFixture) -> None:
    settings: dict[str, Any] = {
        "temperature": 0.2,
        "top_p": 0.9,
        "presence_penalty": 0.5,
        "stop_sequences": ["x"],
        "response_logprobs": True,
        "max_output_tokens": 50,
        "system_instruction": "Be brief.",
        "seed": 7,
    }
    body = chat.sent(user("Hi"), name="gpt-5", **settings)
    assert set(body) == {"model", "messages", "max_completion_tokens", "seed"}
    assert body["messages"][0]["role"] == "developer"
    for name in ("temperature", "top_p", "presence_penalty", "stop_sequences", "response_logprobs"):
        assert f"this model takes no {name}" in said(caplog)


def test_other_models_take_them(chat: Caller) -> None:
    settings: dict[str, Any] = {"temperature": 0.0, "top_p": 0.9, "frequency_penalty": 0.5, "logprobs": 2}
    body = chat.sent(user("Hi"), **settings)
    assert {name: body[name] for name in ("temperature", "top_p", "frequency_penalty", "logprobs", "top_logprobs")} == {
        "temperature": 0.0,
        "top_p": 0.9,
        "frequency_penalty": 0.5,
        "logprobs": True,
        "top_logprobs": 2,
    }


@pytest.mark.parametrize(
    ("name", "thinking", "effort"),
    [
        ("gpt-5", ThinkingConfig(thinking_level=ThinkingLevel.HIGH), "high"),
        ("gpt-5", ThinkingConfig(thinking_level=ThinkingLevel.XHIGH), "high"),
        ("o3", ThinkingConfig(thinking_level=ThinkingLevel.MINIMAL), "low"),
        ("gpt-5", ThinkingConfig(thinking_budget=0), "minimal"),
        ("gpt-5.1", ThinkingConfig(thinking_budget=0), "none"),
        ("o3", ThinkingConfig(thinking_budget=0), "low"),
        ("gpt-5", ThinkingConfig(thinking_budget=1024), "low"),
        ("gpt-5", ThinkingConfig(thinking_budget=32_000), "high"),
        ("gpt-5", ThinkingConfig(thinking_budget=-1), None),
        ("gpt-5", ThinkingConfig(include_thoughts=True), None),
        ("gpt-4o", ThinkingConfig(thinking_budget=1024), None),
    ],
)
def test_thinking_maps_to_effort(name: str, thinking: ThinkingConfig, effort: str | None, chat: Caller) -> None:
    assert chat.sent(user("Hi"), name=name, thinking_config=thinking).get("reasoning_effort") == effort


def test_endpoints_have_their_own_words_for_thinking(chat: Caller) -> None:
    high, off = ThinkingConfig(thinking_level=ThinkingLevel.HIGH), ThinkingConfig(thinking_budget=0)
    router = lab(chat, thinking_field="reasoning", capabilities={"thinking": ["effort"]})
    assert chat.sent(user("Hi"), llm=router, thinking_config=high)["reasoning"] == {"effort": "high"}
    template = lab(chat, thinking_field="enable_thinking")
    body = chat.sent(user("Hi"), llm=template, thinking_config=off)
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    assert "chat_template_kwargs" not in chat.sent(user("Hi"), llm=template)


def test_response_format(chat: Caller) -> None:
    for schema in (Found, Found.model_json_schema()):
        shape = chat.sent(user("Hi"), response_schema=schema)["response_format"]["json_schema"]
        assert (shape["name"], shape["strict"]) == ("Found", True)
        assert shape["schema"]["required"] == ["name", "tags"]
    shape = chat.sent(user("Hi"), response_schema={"type": "OBJECT", "properties": {"a": {"type": "STRING"}}})
    assert shape["response_format"]["json_schema"]["schema"]["properties"]["a"]["type"] == ["string", "null"]
    listed = chat.sent(user("Hi"), response_schema=list[Found])["response_format"]["json_schema"]["schema"]
    assert listed["properties"]["result"]["type"] == "array"


def test_any_object_needs_the_word_json(chat: Caller) -> None:
    body = chat.sent(user("Hi"), response_mime_type="application/json", system_instruction="Be brief.")
    assert body["response_format"] == {"type": "json_object"}
    assert body["messages"][0]["content"] == "Be brief.\n\nAnswer in JSON."
    loose = lab(chat, capabilities={"output_schema": False})
    body = chat.sent(user("Hi"), llm=loose, response_schema=Found)
    assert body["response_format"] == {"type": "json_object"}
    assert '"tags"' in body["messages"][0]["content"]


def test_stops_at_most_four(chat: Caller, caplog: pytest.LogCaptureFixture) -> None:
    assert chat.sent(user("Hi"), stop_sequences=[*"abcde"])["stop"] == [*"abcd"]
    assert "at most 4 stop sequences" in said(caplog)


def test_what_the_protocol_lacks_is_said_once(chat: Caller, caplog: pytest.LogCaptureFixture) -> None:
    llm = OpenAILlm(model="gpt-4o")
    for _ in range(2):
        body = chat.sent(user("Hi"), llm=llm, top_k=5, response_modalities=["TEXT", "AUDIO"], cached_content="c")
        assert set(body) == {"model", "messages"}
    assert said(caplog).count("the protocol has no top_k") == 1
    assert "AUDIO" in said(caplog)
    assert "cached_content" in said(caplog)


def test_profiles_spell_parameters_otherwise(chat: Caller) -> None:
    llm = lab(chat, top_k=True, extra_body={"min_p": 0.1}, parallel_tools=False, stream_usage=False)
    more: dict[str, Any] = {"max_output_tokens": 9, "top_k": 5, "system_instruction": "x", "tools": tools("a")}
    body = chat.sent(user("Hi"), llm=llm, stream=True, **more)
    assert (body["max_tokens"], body["top_k"], body["min_p"], body["parallel_tool_calls"]) == (9, 5, 0.1, False)
    assert body["messages"][0]["role"] == "system"
    assert "stream_options" not in body
    assert chat.server.log[-1].headers["authorization"] == "Bearer lab"


def test_a_request_brings_fields_and_headers_of_its_own(chat: Caller) -> None:
    options = {"extra_body": {"verbosity": "low"}, "headers": {"x-mine": "1"}}
    assert chat.sent(user("Hi"), http_options=options, service_tier="flex")["verbosity"] == "low"
    assert chat.server.log[-1].headers["x-mine"] == "1"
    assert chat.server.bodies[-1]["service_tier"] == "flex"
