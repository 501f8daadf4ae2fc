"""LiteLLM's tricky points, through the package and against the strict servers."""

from __future__ import annotations

import asyncio
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from newel.models.lite_llm import LiteLlm
from newel.models.litellm import library
from newel_kernel import LlmRequest, ModelError
from newel_testkit import WIRE_KEY, WireServer
from newel_testkit.wire import Answer, fault
from newel_testkit.wire.answers import LONG, call, text
from newel_testkit.wire.caller import HELLO, Caller, model, result, tools, user
from newel_testkit.wire.caller import call as called
from newel_types import (
    Blob,
    FinishReason,
    FunctionCallingConfig,
    FunctionResponsePart,
    HttpRetryOptions,
    Part,
    ThinkingConfig,
    ToolConfig,
)

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::ResourceWarning")
BOTH = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
ONCE = HttpRetryOptions(attempts=1)
ROME = {"city": "Rome"}
PNG = b"\x89PNG\r\n\x1a\n1"
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def caller(server: WireServer, protocol: str, name: str) -> Caller:
    def make(name: str) -> LiteLlm:
        return LiteLlm(model=name, api_base=server.base[protocol], api_key=WIRE_KEY, retry_options=ONCE)

    return Caller(server, make, name)


@pytest.fixture
def chat(wire_server: WireServer) -> Caller:
    return caller(wire_server, "openai", "openai/gpt-4o")


@pytest.fixture
def claude(wire_server: WireServer) -> Caller:
    return caller(wire_server, "anthropic", "anthropic/claude-sonnet-4-5")


def choice(mode: str, *names: str) -> dict[str, Any]:
    calling = FunctionCallingConfig(mode=mode, allowed_function_names=list(names) or None)
    return {"tools": tools("weather", "add", "save"), "tool_config": ToolConfig(function_calling_config=calling)}


def test_tools_without_mcp_installed(chat: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `mcp` the package fails at any request with tools, unless that says that none of them is of MCP."""
    monkeypatch.setitem(sys.modules, "mcp", None)  # type: ignore[arg-type]
    assert chat.sent(user("Hi"), tools=tools("weather"))["tools"][0]["function"]["name"] == "weather"


@pytest.mark.parametrize(
    ("protocol", "name", "path", "sent"),
    [
        ("openai", "openai/gpt-4o", "/openai/v1/chat/completions", "gpt-4o"),
        ("anthropic", "anthropic/claude-sonnet-4-5", "/anthropic/v1/messages", "claude-sonnet-4-5"),
        ("compatible", "hosted_vllm/qwen", "/compatible/v1/chat/completions", "qwen"),
    ],
)
def test_model_prefix_reaches_the_right_protocol(
    wire_server: WireServer, protocol: str, name: str, path: str, sent: str
) -> None:
    one = caller(wire_server, protocol, name)
    response = one.ask(user("Hi"))[-1]
    assert (wire_server.log[-1].path, wire_server.bodies[-1]["model"]) == (path, sent)
    assert response.model_version == sent


def test_nothing_on_stdout(chat: Caller, capfd: pytest.CaptureFixture[str]) -> None:
    chat.ask(user("Hi"))
    chat.ask(user("Hi"), stream=True)
    for name in ("400", "500", "reset", "malformed"):
        with pytest.raises(ModelError):
            chat.ask(user("Hi"), steps=fault(name))
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
def test_no_address_but_the_services_is_looked_up(
    wire_server: WireServer, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import socket

    real, asked = socket.getaddrinfo, []

    def noted(host: Any, *rest: Any, **more: Any) -> Any:
        asked.append(host)
        assert host in ("127.0.0.1", b"127.0.0.1"), host
        return real(host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", noted)
    name = {"openai": "openai/gpt-4o", "anthropic": "anthropic/claude-sonnet-4-5"}[protocol]
    caller(wire_server, protocol, name).ask(user("Hi"), tools=tools("f"))
    assert set(asked) <= {"127.0.0.1", b"127.0.0.1"}


def gemini_answer(parts: list[dict[str, Any]], **message: Any) -> Any:
    """What the package makes of an answer of Gemini's: the signature lies beside the call."""
    whole = {"role": "assistant", "content": None, "tool_calls": parts, **message}
    return {"model": "gemini-3-pro", "choices": [{"index": 0, "finish_reason": "tool_calls", "message": whole}]}


@BOTH
@pytest.mark.parametrize("where", ["beside", "behind"])
def test_gemini_signature_round_trip(monkeypatch: pytest.MonkeyPatch, where: str, stream: bool) -> None:
    signature = "Z2VtaW5pLXNpZzp4"
    said: dict[str, Any] = {
        "id": "call_1",
        "index": 0,
        "type": "function",
        "function": {"name": "weather", "arguments": '{"city": "Rome"}'},
        "provider_specific_fields": {"thought_signature": signature},
    }
    if where == "behind":
        said["id"] += f"__thought__{signature}"
        del said["provider_specific_fields"]
    asked: list[Any] = []

    class Answered:
        def __init__(self, value: Any) -> None:
            self._value = value

        def model_dump(self, **options: Any) -> Any:
            return self._value

    async def acompletion(**arguments: Any) -> Any:
        asked.append(arguments)
        answer = gemini_answer([said])
        if not arguments.get("stream"):
            return Answered(answer)
        answer["choices"][0]["delta"] = answer["choices"][0].pop("message")

        async def chunks() -> Any:
            yield Answered(answer)

        return chunks()

    async def load() -> Any:
        return SimpleNamespace(acompletion=acompletion)

    monkeypatch.setattr(library, "load", load)
    llm = LiteLlm(model="gemini/gemini-3-pro", api_key="k")

    async def talk() -> None:
        request = LlmRequest(model=llm.model, contents=[user("Hi")])
        answered = [one async for one in llm.generate_content_async(request, stream=stream)][-1].content
        assert answered is not None
        part = (answered.parts or [])[0]
        assert part.function_call is not None
        assert part.function_call.args == ROME
        results = user(result("weather", {"t": 21}, part.function_call.id))
        again = LlmRequest(model=llm.model, contents=[user("Hi"), answered, results])
        async for _ in llm.generate_content_async(again):
            pass

    asyncio.run(talk())
    back = asked[1]["messages"][1]["tool_calls"][0]
    assert back["provider_specific_fields"]["thought_signature"] == signature


@BOTH
def test_redacted_thinking_round_trip(claude: Caller, stream: bool) -> None:
    answer = Answer(parts=({"redacted": "hidden"}, call("weather", ROME)), stop="tool")
    thinking = {"thinking_config": ThinkingConfig(thinking_budget=2048), "tools": tools("weather")}
    said = claude.ask(user("Hi"), steps=answer, stream=stream, **thinking)[-1].content
    results = user(result("weather", {"t": 21}, said.parts[-1].function_call.id))
    body = claude.sent(user("Hi"), said, results, **thinking)
    assert body["messages"][1]["content"][0]["type"] == "redacted_thinking"


def test_streamed_usage(chat: Caller) -> None:
    usage = {"input": 30, "cached": 20, "output": 9, "reasoning": 4}
    responses = chat.ask(user("Hi"), steps=LONG.having(usage=usage), stream=True)
    assert chat.server.bodies[-1]["stream_options"] == {"include_usage": True}
    (counted,) = (one.usage_metadata for one in responses if one.usage_metadata is not None)
    assert (counted.prompt_token_count, counted.cached_content_token_count) == (30, 20)
    assert (counted.candidates_token_count, counted.thoughts_token_count, counted.total_token_count) == (5, 4, 39)


@BOTH
def test_cached_tokens_of_anthropic_counted_once(claude: Caller, stream: bool) -> None:
    usage = {"input": 2000, "cached": 1500, "output": 7}
    used = claude.answered(HELLO.having(usage=usage), stream=stream).usage_metadata
    assert (used.prompt_token_count, used.cached_content_token_count, used.total_token_count) == (2000, 1500, 2007)


@pytest.mark.parametrize("name", ["chat", "claude"])
def test_finish_reason_of_streams(name: str, request: pytest.FixtureRequest) -> None:
    one: Caller = request.getfixturevalue(name)
    assert one.answered(LONG.having(stop="max"), stream=True).finish_reason == FinishReason.MAX_TOKENS
    ended = one.answered(Answer(parts=(call("weather", ROME),), stop="tool"), stream=True)
    assert ended.finish_reason == FinishReason.STOP
    assert ended.content.parts[0].function_call.args == ROME


def test_parallel_results_each_a_message(chat: Caller) -> None:
    calls = model(called("weather", ROME, "call_1"), called("weather", {"city": "Oslo"}, "call_2"))
    results = user(result("weather", {"t": 1}, "call_1"), result("weather", {"t": 2}, "call_2"))
    messages = chat.sent(user("Hi"), calls, results, tools=tools("weather"))["messages"]
    assert [(one["role"], one.get("tool_call_id")) for one in messages[2:]] == [("tool", "call_1"), ("tool", "call_2")]


def test_other_parts_beside_results_survive(chat: Caller) -> None:
    picture = Part(inline_data=Blob(mime_type="image/png", data=PNG))
    results = user("Before.", result("weather", {"t": 1}, "call_1"), "After.", picture)
    calls = model(called("weather", ROME, "call_1"))
    messages = chat.sent(user("Hi"), calls, results, tools=tools("weather"))["messages"]
    assert messages[2]["role"] == "tool"
    assert [part["type"] for part in messages[3]["content"]] == ["text", "text", "image_url"]


@pytest.mark.parametrize("name", ["chat", "claude"])
def test_media_of_results(name: str, request: pytest.FixtureRequest) -> None:
    one: Caller = request.getfixturevalue(name)
    picture = [FunctionResponsePart.model_validate({"inline_data": {"mime_type": "image/png", "data": PNG}})]
    results = user(result("look", {"ok": True}, "call_1", picture))
    messages = one.sent(user("Hi"), model(called("look", {}, "call_1")), results, tools=tools("look"))["messages"]
    found = str(messages[2:])
    assert "image" in found
    inside = any(block.get("type") == "tool_result" and "image" in str(block) for block in _blocks(messages[2]))
    assert inside is (name == "claude")


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return content if isinstance(content, list) else []


@pytest.mark.parametrize("name", ["chat", "claude"])
def test_ids_none_and_reused(name: str, request: pytest.FixtureRequest) -> None:
    one: Caller = request.getfixturevalue(name)
    history = [user("Hi")]
    for call_id in (None, "same", "same"):
        history += [model(called("weather", ROME, call_id)), user(result("weather", {"t": 1}, call_id))]
    body = one.sent(*history, tools=tools("weather"))
    if name == "chat":
        ids = [tool["id"] for message in body["messages"] for tool in message.get("tool_calls") or ()]
    else:
        blocks = [block for message in body["messages"] for block in _blocks(message)]
        ids = [block["id"] for block in blocks if block["type"] == "tool_use"]
    assert len(set(ids)) == 3


def test_output_schema_and_tools_by_model() -> None:
    able = {
        name: LiteLlm(model=name).capabilities.output_schema_with_tools
        for name in ("openai/gpt-4o", "anthropic/claude-sonnet-4-5", "anthropic/claude-3-opus-20240229", "groq/llama")
    }
    assert able == {
        "openai/gpt-4o": True,
        "anthropic/claude-sonnet-4-5": True,
        "anthropic/claude-3-opus-20240229": False,
        "groq/llama": False,
    }


def test_response_format_per_provider(chat: Caller, claude: Caller) -> None:
    shaped = {"response_json_schema": CITY, "response_mime_type": "application/json"}
    sent = chat.sent(user("Hi"), **shaped)["response_format"]
    assert (sent["type"], sent["json_schema"]["strict"]) == ("json_schema", True)
    assert "tools" not in chat.server.bodies[-1]
    body = claude.sent(user("Hi"), **shaped)
    native = (body.get("output_config") or {}).get("format") or body.get("output_format")
    assert bool(native) is not bool(body.get("tools"))  # one of both, never two at once


def test_tool_choice_is_translated(chat: Caller, claude: Caller) -> None:
    sent = {
        words: chat.sent(user("Hi"), **choice(*words)).get("tool_choice")
        for words in [("ANY",), ("NONE",), ("ANY", "add")]
    }
    assert sent[("ANY",)] == "required"
    assert sent[("NONE",)] == "none"
    assert sent[("ANY", "add")] == {"type": "function", "function": {"name": "add"}}
    two = chat.sent(user("Hi"), **choice("ANY", "add", "save"))["tool_choice"]
    assert (two["type"], two["allowed_tools"]["mode"]) == ("allowed_tools", "required")
    assert claude.sent(user("Hi"), **choice("ANY"))["tool_choice"]["type"] == "any"
    one = claude.sent(user("Hi"), **choice("ANY", "add"))["tool_choice"]
    assert (one["type"], one["name"]) == ("tool", "add")


def test_dropped_params_are_said(chat: Caller, claude: Caller, caplog: pytest.LogCaptureFixture) -> None:
    body = chat.sent(user("Hi"), top_k=5, temperature=0.3)
    assert "top_k" not in body
    assert body["temperature"] == 0.3
    assert "top_k" in caplog.text
    caplog.clear()
    assert "seed" not in claude.sent(user("Hi"), seed=7)
    assert "seed" in caplog.text


@pytest.mark.parametrize("failure", [{"error": "no such city"}, {"isError": True, "content": "no such city"}])
def test_a_failed_result_says_so_in_its_text_alone(
    claude: Caller, failure: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    """LiteLLM makes the block of a result from its id, its content and its cache mark, and takes nothing else over.

    Blocks of that kind in a user's message, and further arguments, do not reach the service either. Should a release
    have a word for it, this fails, and the word is to be used.
    """
    turn = [user("Hi"), model(called("weather", ROME, "1")), user(result("weather", failure, "1"))]
    one = LiteLlm(model="anthropic/claude-sonnet-4-5", api_base=claude.server.base["anthropic"], api_key=WIRE_KEY)
    for number in range(2):
        sent = claude.sent(*turn, tools=tools("weather"), llm=one)["messages"][-1]["content"][0]
        assert (sent["type"], sent["tool_use_id"]) == ("tool_result", "1")
        assert "no such city" in str(sent["content"])
        assert "is_error" not in sent
        said = [record for record in caplog.records if "is an error" in record.getMessage()]
        assert [record.levelname for record in said] == ["WARNING"], number
    caplog.clear()
    claude.sent(*turn[:2], user(result("weather", {"sky": "blue"}, "1")), tools=tools("weather"))
    assert "is an error" not in caplog.text


def test_reasoning_effort_and_thinking(wire_server: WireServer, claude: Caller) -> None:
    reasoner = caller(wire_server, "openai", "openai/gpt-5")
    high = {"thinking_config": ThinkingConfig(thinking_level="HIGH")}
    assert reasoner.sent(user("Hi"), **high)["reasoning_effort"] == "high"
    off = {"thinking_config": ThinkingConfig(thinking_budget=0)}
    assert reasoner.sent(user("Hi"), **off)["reasoning_effort"] in ("none", "minimal")
    budget = {"thinking_config": ThinkingConfig(thinking_budget=2048), "max_output_tokens": 8000}
    assert claude.sent(user("Hi"), **budget)["thinking"] == {"type": "enabled", "budget_tokens": 2048}
    assert (claude.sent(user("Hi"), **off).get("thinking") or {"type": "disabled"})["type"] == "disabled"


@BOTH
@pytest.mark.parametrize("raw", ['{"city": "Ro', '["Rome"]', "Rome"])
def test_bad_arguments_are_not_repaired(chat: Caller, raw: str, stream: bool) -> None:
    answer = Answer(parts=(call("weather", ROME),), stop="tool", raw_args=raw)
    final = chat.answered(answer, stream=stream, tools=tools("weather"))
    assert final.error_code == "MALFORMED_FUNCTION_CALL"
    cut = chat.answered(answer.having(stop="max"), stream=stream, tools=tools("weather"))
    assert cut.error_code == "MAX_TOKENS"
    assert not any(part.function_call for part in (cut.content.parts if cut.content else []))


@BOTH
def test_text_that_looks_like_a_call_stays_text(chat: Caller, stream: bool) -> None:
    words = '{"name": "weather", "arguments": {"city": "Rome"}}'
    final = chat.answered(Answer(parts=(text(words),)), stream=stream, tools=tools("weather"))
    assert [part.text for part in final.content.parts] == [words]


def test_cache_control_reaches_the_wire(claude: Caller) -> None:
    from newel.agents.context_cache_config import ContextCacheConfig
    from newel.models.llm_request import LlmRequest as Request
    from newel_types import GenerateContentConfig

    claude.server.script(HELLO)
    llm = LiteLlm(model="anthropic/claude-sonnet-4-5", api_base=claude.server.base["anthropic"], api_key=WIRE_KEY)
    config = GenerateContentConfig(system_instruction="Be brief. " * 500, tools=tools("weather", "add"))
    request = Request(model=llm.model, contents=[user("Hi")], config=config)
    request.cache_config = ContextCacheConfig(min_tokens=0)

    async def ask() -> None:
        async for _ in llm.generate_content_async(request):
            pass

    asyncio.run(ask())
    body = claude.server.bodies[-1]
    mark = {"type": "ephemeral", "ttl": "1h"}
    last = body["messages"][-1]["content"][-1]
    assert [block["cache_control"] for block in (body["tools"][-1], body["system"][-1], last)] == [mark] * 3
