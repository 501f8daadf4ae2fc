"""Configurations as Anthropic's requests: thinking, sampling, tools, cache marks, and what is said once."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from newel import types
from newel.agents.context_cache_config import ContextCacheConfig
from newel.models.anthropic.requests import outgoing
from newel.models.anthropic_llm import AnthropicLlm
from newel.models.google.request_keys import CACHE_CONFIG, CACHEABLE_TOKENS
from newel_kernel import Json, LlmRequest
from newel_testkit.wire import Answer
from newel_testkit.wire.anthropic import signature
from newel_testkit.wire.caller import Caller, call, model, result, tools, user
from newel_types import SharedContents, freeze

OLD, SONNET_45, OPUS_46, OPUS_5 = "claude-3-haiku-20240307", "claude-sonnet-4-5", "claude-opus-4-6", "claude-opus-5"


def _choice(mode: str, *names: str) -> Json:
    return {"function_calling_config": {"mode": mode, "allowed_function_names": list(names) or None}}


def test_a_plain_request_says_nothing_else(claude: Caller, caplog: pytest.LogCaptureFixture) -> None:
    body = claude.sent(user("Hi"))
    assert body == {
        "model": SONNET_45,
        "max_tokens": 8192,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
    }
    assert not caplog.records


def test_the_instruction_is_system_blocks(claude: Caller) -> None:
    for instruction in ("One.", ["One.", " "], user("One."), [types.Part(text="One.")]):
        assert claude.sent(user("Hi"), system_instruction=instruction)["system"] == [{"type": "text", "text": "One."}]
    body = claude.sent(user("Hi"), system_instruction=user("One.", "Two."))
    assert [block["text"] for block in body["system"]] == ["One.", "Two."]
    assert "system" not in claude.sent(user("Hi"), system_instruction=" ")


@pytest.mark.parametrize(
    ("name", "config", "thinking", "effort"),
    [
        (SONNET_45, {"thinking_budget": 2048}, {"type": "enabled", "budget_tokens": 2048}, None),
        (SONNET_45, {"thinking_budget": 5}, {"type": "enabled", "budget_tokens": 1024}, None),
        (SONNET_45, {"thinking_budget": -1}, {"type": "enabled", "budget_tokens": 8192}, None),
        (SONNET_45, {"thinking_level": "LOW"}, {"type": "enabled", "budget_tokens": 2048}, None),
        (SONNET_45, {"thinking_budget": 0}, {"type": "disabled"}, None),
        (SONNET_45, {}, None, None),
        ("claude-opus-4-5", {"thinking_level": "HIGH"}, {"type": "enabled", "budget_tokens": 16384}, "high"),
        (OPUS_46, {"thinking_budget": 2048}, {"type": "enabled", "budget_tokens": 2048}, None),
        (OPUS_46, {"thinking_budget": -1}, {"type": "adaptive"}, None),
        (OPUS_46, {"include_thoughts": True}, {"type": "adaptive"}, None),
        (OPUS_46, {"thinking_level": "XHIGH"}, {"type": "adaptive"}, "high"),
        (OPUS_5, {"thinking_level": "XHIGH"}, {"type": "adaptive"}, "xhigh"),
        (OPUS_5, {"thinking_level": "MINIMAL"}, {"type": "adaptive"}, "low"),
        (OPUS_5, {"thinking_budget": 9000}, {"type": "adaptive"}, "medium"),
        (OPUS_5, {"include_thoughts": True}, {"type": "adaptive", "display": "summarized"}, None),
        (OPUS_5, {"thinking_budget": 0}, {"type": "disabled"}, None),
        (OLD, {"thinking_budget": 2048}, None, None),
    ],
)
def test_thinking_by_model(claude: Caller, name: str, config: Json, thinking: Json | None, effort: str | None) -> None:
    body = claude.sent(user("Hi"), name=name, thinking_config=config)
    assert body.get("thinking") == thinking
    assert body.get("output_config", {}).get("effort") == effort


def test_budget_below_max_tokens(claude: Caller, caplog: pytest.LogCaptureFixture) -> None:
    wide = claude.sent(user("Hi"), thinking_config={"thinking_budget": 2048}, max_output_tokens=8000)
    assert wide["max_tokens"] == 8000
    assert not caplog.records
    narrow = claude.sent(user("Hi"), thinking_config={"thinking_budget": 16000}, max_output_tokens=4000)
    assert (narrow["max_tokens"], narrow["thinking"]["budget_tokens"]) == (20000, 16000)
    assert "max_output_tokens" in caplog.text
    assert claude.sent(user("Hi"), thinking_config={"thinking_budget": 9000})["max_tokens"] == 17192


def test_thinking_and_forced_choice_exclude_each_other(claude: Caller, caplog: pytest.LogCaptureFixture) -> None:
    thinking: Json = {"thinking_config": {"thinking_budget": 2048}, "max_output_tokens": 8000}
    body = claude.sent(
        user("Hi"), tools=tools("f"), tool_config=_choice("ANY"), temperature=0.2, top_k=5, top_p=0.9, **thinking
    )
    assert not {"tool_choice", "temperature", "top_k", "top_p"} & body.keys()
    for word in ("temperature", "top_k", "top_p", "made to call a tool"):
        assert word in caplog.text
    assert claude.sent(user("Hi"), temperature=1, top_p=0.97, name=OPUS_46, **thinking)["temperature"] == 1


def test_thinking_does_not_begin_in_the_middle_of_a_step(claude: Caller, caplog: pytest.LogCaptureFixture) -> None:
    thinking: Json = {"thinking_config": {"thinking_budget": 2048}, "max_output_tokens": 8000, "tools": tools("f")}
    step = [user("Hi"), model("Let me see.", call("f", {}, "a")), user(result("f", {"result": 1}, "a"))]
    assert "thinking" not in claude.sent(*step, **thinking)
    assert "step" in caplog.text
    assert "thinking" in claude.sent(*step, model("Done."), user("And?"), **thinking)
    thought = types.Part(text="Hm.", thought=True, thought_signature=signature("Hm.").encode())
    step[1] = model(thought, call("f", {}, "a"))
    assert "thinking" in claude.sent(*step, **thinking)


def test_newest_models_get_no_sampling_no_prefill(claude: Caller, caplog: pytest.LogCaptureFixture) -> None:
    body = claude.sent(user("Hi"), model("Yes "), name=OPUS_5, temperature=0.3, top_p=0.9, top_k=3)
    assert not {"temperature", "top_k", "top_p"} & body.keys()
    assert body["messages"][-1]["role"] == "user"
    assert len(caplog.records) == 3
    older = claude.sent(user("Hi"), temperature=0.3, top_k=3.0, name=OLD, top_p=0.5)
    assert (older["temperature"], older["top_k"], older["top_p"]) == (0.3, 3, 0.5)
    assert len(caplog.records) == 3


def test_temperature_and_top_p_not_together(claude: Caller, caplog: pytest.LogCaptureFixture) -> None:
    body = claude.sent(user("Hi"), temperature=0.0, top_p=0.5)
    assert body["temperature"] == 0
    assert "top_p" not in body
    assert "top_p" in caplog.text
    assert claude.sent(user("Hi"), top_p=0.5)["top_p"] == 0.5
    assert claude.sent(user("Hi"), temperature=1.7)["temperature"] == 1


def test_what_the_protocol_has_no_words_for_is_said_once(claude: Caller, caplog: pytest.LogCaptureFixture) -> None:
    llm = AnthropicLlm(model=SONNET_45)
    for _ in range(2):
        claude.sent(
            user("Hi"),
            llm=llm,
            seed=7,
            presence_penalty=0.5,
            candidate_count=2,
            stop_sequences=["END", "\n\n"],
            safety_settings=[{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
            labels={"a": "b"},
            tools=[types.Tool(google_search=types.GoogleSearch())],
        )
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 6
    for word in ("seed", "presence_penalty", "candidate_count", "safety_settings", "stop sequences", "google_search"):
        assert sum(word in one for one in said) == 1
    assert claude.server.bodies[-1]["stop_sequences"] == ["END"]


def test_tool_names_are_legal_and_come_back(claude: Caller) -> None:
    dotted, long = "files.read:now", "a" * 70
    history = [user("Hi"), model(call(dotted, {}, "a")), user(result(dotted, {"result": "x"}, "a"))]
    body = claude.sent(*history, tools=tools(dotted, long, "ok"), tool_config=_choice("ANY", dotted))
    out = [tool["name"] for tool in body["tools"]]
    assert out[2] == "ok"
    assert len(set(out)) == 3
    assert body["messages"][1]["content"][0]["name"] == out[0] == body["tool_choice"]["name"]
    for stream in (False, True):
        answer = Answer(parts=({"call": {"id": "b", "name": out[0], "args": {}}},), stop="tool")
        final = claude.answered(answer, stream=stream, tools=tools(dotted))
        assert final.content is not None
        assert final.content.parts[0].function_call.name == dotted  # type: ignore[index,union-attr]


@pytest.mark.parametrize(
    ("mode", "names", "choice"),
    [
        ("AUTO", (), None),
        ("ANY", (), {"type": "any"}),
        ("NONE", (), {"type": "none"}),
        ("VALIDATED", (), None),
        ("ANY", ("f",), {"type": "tool", "name": "f"}),
        ("ANY", ("f", "g"), {"type": "any"}),
        ("ANY", ("gone",), {"type": "any"}),
    ],
)
def test_tool_choice(claude: Caller, mode: str, names: tuple[str, ...], choice: Json | None) -> None:
    body = claude.sent(user("Hi"), tools=tools("f", "g"), tool_config=_choice(mode, *names))
    assert body.get("tool_choice") == choice
    assert "tool_choice" not in claude.sent(user("Hi"), tool_config=_choice(mode, *names))


def test_tools_that_are_gone_are_covered(claude: Caller) -> None:
    history = [user("Hi"), model(call("gone", {}, "a")), user(result("gone", {"result": 1}, "a"))]
    body = claude.sent(*history)
    assert [tool["name"] for tool in body["tools"]] == ["gone"]
    assert body["tool_choice"] == {"type": "none"}


def test_nullable_and_any_of_survive(claude: Caller) -> None:
    properties = {
        "tag": types.Schema(type="STRING", nullable=True, description="TAG"),
        "key": types.Schema(any_of=[types.Schema(type="STRING"), types.Schema(type="INTEGER")]),
        "list": types.Schema(type="ARRAY", items=types.Schema(type="NUMBER"), min_items=1),
        **{name: types.Schema(type="STRING") for name in ("type", "any_of", "min_items")},
    }
    declared = types.FunctionDeclaration(name="f", parameters=types.Schema(type="OBJECT", properties=properties))
    body = claude.sent(user("Hi"), tools=[types.Tool(function_declarations=[declared])])
    assert body["tools"][0]["input_schema"] == {
        "type": "object",
        "properties": {
            "tag": {"type": ["string", "null"], "description": "TAG"},
            "key": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "list": {"type": "array", "items": {"type": "number"}, "minItems": 1},
            "type": {"type": "string"},
            "any_of": {"type": "string"},
            "min_items": {"type": "string"},
        },
    }


def test_parameters_are_one_object_with_legal_names(claude: Caller, caplog: pytest.LogCaptureFixture) -> None:
    odd: Json = {"type": "object", "properties": {"$filter": {"type": "string"}, "top": {}}, "required": ["$filter"]}
    either: Json = {
        "anyOf": [
            {"type": "object", "properties": {"a": {"type": "string"}, "b": {}}, "required": ["a", "b"]},
            {"$ref": "#/$defs/C"},
        ],
        "$defs": {"C": {"type": "object", "properties": {"c": {"type": "integer"}, "b": {}}, "required": ["b"]}},
    }
    declared = tools(odd=odd, either=either, reference={"$ref": "#/$defs/C", "$defs": either["$defs"]})
    sent = {tool["name"]: tool["input_schema"] for tool in claude.sent(user("Hi"), tools=declared)["tools"]}
    assert ["either" in record.getMessage() for record in caplog.records] == [True]
    (spelling,) = sent["odd"]["required"]
    assert list(sent["odd"]["properties"]) == [spelling, "top"]
    assert sent["either"]["required"] == ["b"]
    assert set(sent["either"]["properties"]) == {"a", "b", "c"}
    assert set(sent["reference"]["properties"]) == {"c", "b"}
    answer = Answer(parts=({"call": {"id": "a", "name": "odd", "args": {spelling: "x", "top": 1}}},), stop="tool")
    for stream in (False, True):
        final = claude.answered(answer, stream=stream, tools=declared)
        assert final.content is not None
        assert final.content.parts[0].function_call.args == {"$filter": "x", "top": 1}  # type: ignore[index,union-attr]


def test_what_was_converted_is_kept(claude: Caller) -> None:
    llm = AnthropicLlm(model=SONNET_45)

    def messages(contents: list[types.Content]) -> list[Json]:
        request = LlmRequest(model=SONNET_45, contents=SharedContents(contents))
        kept: list[Json] = outgoing(
            request, SONNET_45, llm.capabilities, llm._conversions, lambda setting, text: None, 1
        ).body["messages"]
        return kept

    history = [freeze(user("Hi")), freeze(model(call("f", {}, "a"))), freeze(user(result("f", {"result": 1}, "a")))]
    first = messages(history)
    history += [freeze(model("Done.")), freeze(user("And?"))]
    second = messages(history)
    assert [one is other for one, other in zip(first, second, strict=False)] == [True, True, False]
    assert messages(history)[2] is second[2]
    pickle.loads(pickle.dumps(llm))


def _marks(body: Json) -> list[tuple[str, str]]:
    found = [("tools", one) for one in body.get("tools", ())] + [("system", one) for one in body.get("system", ())]
    found += [(message["role"], block) for message in body["messages"] for block in message["content"]]
    return [(place, one["cache_control"]["ttl"]) for place, one in found if "cache_control" in one]


def test_cache_marks_at_most_four_in_order(claude: Caller) -> None:
    thought = types.Part(text="Hm.", thought=True, thought_signature=signature("Hm.").encode())
    history = [user("Hi"), model("First"), user("And"), model(thought, "Second"), user("Now?")]
    extra: Json = {"tools": tools("f", "g"), "system_instruction": "Be brief."}
    assert _marks(claude.sent(*history, **extra)) == []
    stash: dict[Any, object] = {CACHE_CONFIG: ContextCacheConfig(ttl_seconds=600)}
    body = claude.sent(*history, stash=stash, **extra)
    assert _marks(body) == [("tools", "1h"), ("system", "1h"), ("user", "1h"), ("user", "1h")]
    assert "cache_control" in body["messages"][2]["content"][0]
    stash = {CACHE_CONFIG: ContextCacheConfig(ttl_seconds=300)}
    assert _marks(claude.sent(user("Hi"), stash=stash, **extra)) == [("tools", "5m"), ("system", "5m"), ("user", "5m")]
    stash = {CACHE_CONFIG: ContextCacheConfig(min_tokens=1000), CACHEABLE_TOKENS: 999}
    assert _marks(claude.sent(*history, stash=stash, **extra)) == []
    stash[CACHEABLE_TOKENS] = 1000
    assert len(_marks(claude.sent(*history, stash=stash, **extra))) == 4


def test_the_requests_own_headers_and_body_win(claude: Caller) -> None:
    options = types.HttpOptions(headers={"anthropic-beta": "x"}, extra_body={"service_tier": "standard_only"})
    body = claude.sent(user("Hi"), http_options=options)
    assert body["service_tier"] == "standard_only"
    assert claude.server.log[-1].headers["anthropic-beta"] == "x"
