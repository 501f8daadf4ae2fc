"""What Claude answers, whole and in events, through the real SDK."""

from __future__ import annotations

import json

import pytest

from newel import types
from newel.models.anthropic.blocks import PROVIDER
from newel_kernel import Json, LlmResponse
from newel_testkit.wire import Answer, common_answers
from newel_testkit.wire.answers import call, text, thought
from newel_testkit.wire.anthropic import redacted, signature
from newel_testkit.wire.caller import Caller, result, tools, user
from newel_testkit.wire.caller import call as call_part
from newel_types import FinishReason, Part

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
THINKS: Json = {"thinking_config": {"thinking_budget": 2048}, "max_output_tokens": 8000}
ROME = {"city": "Rome"}


def _parts(response: LlmResponse) -> list[Part]:
    assert response.content is not None
    return response.content.parts or []


@pytest.mark.parametrize("name", common_answers())
def test_streaming_equals_unary(claude: Caller, name: str) -> None:
    answer = common_answers()[name]
    given = tools("weather", "save", "ping")
    whole = claude.answered(answer, stream=False, tools=given)
    responses = claude.ask(user("Hi"), steps=answer, stream=True, tools=given)
    assert responses[-1] == whole
    assert all(response.partial for response in responses[:-1])
    shown = "".join(part.text or "" for response in responses[:-1] for part in _parts(response))
    assert shown == "".join(part.text or "" for part in _parts(whole))
    asked = [part["call"] for part in answer.parts if "call" in part]
    wanted = [(one["id"], one["name"], one["args"]) for one in asked]
    calls = [part.function_call for part in _parts(whole) if part.function_call]
    assert [(one.id, one.name, one.args) for one in calls] == wanted


@BOTH
def test_thinking_is_kept_for_its_owner(claude: Caller, stream: bool) -> None:
    answer = Answer(
        parts=(thought("Both "), thought("cities."), {"redacted": "hidden"}, call("weather", ROME)), stop="tool"
    )
    final = claude.answered(answer, stream=stream, tools=tools("weather"), **THINKS)
    first, second, opaque, asked = _parts(final)
    assert (first.thought, first.text, first.thought_signature) == (True, "Both ", signature("Both ").encode())
    assert second.text == "cities."
    assert (opaque.thought, opaque.text, opaque.thought_signature) == (True, "", redacted("hidden").encode())
    assert opaque.part_metadata is not None
    assert opaque.part_metadata["provider"] == PROVIDER
    assert asked.thought_signature is None
    back = user(result("weather", {"result": "sunny"}, "call_weather"))
    assert final.content is not None
    body = claude.sent(user("Hi"), final.content, back, tools=tools("weather"), **THINKS)
    assert [block["type"] for block in body["messages"][1]["content"]] == [
        "thinking",
        "thinking",
        "redacted_thinking",
        "tool_use",
    ]
    assert body["messages"][1]["content"][2]["data"] == redacted("hidden")


@BOTH
def test_omitted_thinking_is_replayed(claude: Caller, stream: bool) -> None:
    answer = Answer(parts=(thought(""), call("weather", ROME)), stop="tool")
    final = claude.answered(answer, stream=stream, tools=tools("weather"), **THINKS)
    stored = types.Content.model_validate_json(final.content.model_dump_json())  # type: ignore[union-attr]
    back = user(result("weather", {"result": "sunny"}, "call_weather"))
    body = claude.sent(user("Hi"), stored, back, tools=tools("weather"), **THINKS)
    block = body["messages"][1]["content"][0]
    assert block == {"type": "thinking", "thinking": "", "signature": signature("")}


@BOTH
def test_redacted_thinking_is_replayed(claude: Caller, stream: bool) -> None:
    answer = Answer(parts=({"redacted": "hidden"}, call("weather", ROME)), stop="tool")
    final = claude.answered(answer, stream=stream, tools=tools("weather"), **THINKS)
    stored = types.Content.model_validate_json(final.content.model_dump_json())  # type: ignore[union-attr]
    back = user(result("weather", {"result": "sunny"}, "call_weather"))
    body = claude.sent(user("Hi"), stored, back, tools=tools("weather"), **THINKS)
    assert body["messages"][1]["content"][0] == {"type": "redacted_thinking", "data": redacted("hidden")}


@BOTH
def test_usage_counts_cache_reads_and_writes(claude: Caller, stream: bool) -> None:
    usage = {"input": 2000, "cached": 300, "written": 1200, "output": 30, "reasoning": 22}
    final = claude.answered(Answer(parts=(thought("Hm."), text("Four.")), usage=usage), stream=stream, **THINKS)
    used = final.usage_metadata
    assert used is not None
    counts = (used.prompt_token_count, used.cached_content_token_count, used.candidates_token_count)
    assert counts == (2000, 300, 8)
    assert (used.thoughts_token_count, used.total_token_count) == (22, 2030)
    assert used.model_dump()["cache_write_token_count"] == 1200


@BOTH
@pytest.mark.parametrize(
    ("stop", "reason", "code"),
    [
        ("end_turn", "STOP", None),
        ("stop_sequence", "STOP", None),
        ("max_tokens", "MAX_TOKENS", None),
        ("model_context_window_exceeded", "MAX_TOKENS", None),
        ("brand_new", "OTHER", None),
        ("pause_turn", "OTHER", None),
        ("safety", "SAFETY", "SAFETY"),
    ],
)
def test_every_stop_reason(claude: Caller, stop: str, reason: str, code: str | None, stream: bool) -> None:
    final = claude.answered(Answer(parts=(text("Well."),), stop=stop), stream=stream)
    assert final.finish_reason is FinishReason(reason)
    assert final.error_code == code
    assert final.custom_metadata is not None
    assert final.custom_metadata["finish_reason"] == ("refusal" if stop == "safety" else stop)
    if code:
        assert "cyber" in (final.error_message or "")
        assert final.custom_metadata["refusal_category"] == "cyber"


@BOTH
def test_a_stop_sequence_and_an_empty_answer(claude: Caller, stream: bool) -> None:
    final = claude.answered(Answer(parts=(text("One"),), stop="stop", stop_sequence="END"), stream=stream)
    assert final.custom_metadata == {"finish_reason": "stop_sequence", "stop_sequence": "END"}
    empty = claude.answered(Answer(), stream=stream)
    assert (_parts(empty), empty.finish_reason) == ([], FinishReason.STOP)
    refused = claude.answered(Answer(stop="safety"), stream=stream)
    assert (refused.content, refused.error_code) == (None, "SAFETY")


@BOTH
def test_unknown_blocks_and_events_are_passed_over(claude: Caller, stream: bool) -> None:
    answer = Answer(
        parts=({"block": {"type": "brand_new_block", "value": 1}}, text("Known.")),
        extra_events=(
            {"type": "brand_new_event", "value": 1},
            {"type": "ping"},
            {"type": "content_block_start", "index": 7, "content_block": {"type": "text", "text": "", "new": 1}},
            {"type": "content_block_delta", "index": 7, "delta": {"type": "brand_new_delta", "x": "y"}},
            {"type": "content_block_stop", "index": 7},
            {"type": "content_block_stop", "index": 99},
        ),
    )
    final = claude.answered(answer, stream=stream)
    assert [part.text for part in _parts(final)] == ["Known."]


SERVER_USE = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
SERVER_RESULT = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}


@BOTH
def test_a_paused_answer_goes_on(claude: Caller, stream: bool) -> None:
    paused = Answer(parts=(text("Searching. "), {"block": SERVER_USE}), stop="pause_turn")
    rest = Answer(parts=({"block": SERVER_RESULT}, text("Found.")))
    responses = claude.ask(user("Hi"), steps=[paused, rest], stream=stream)
    final = responses[-1]
    assert [part.text for part in _parts(final) if not part.thought] == ["Searching. ", "Found."]
    assert final.finish_reason is FinishReason.STOP
    assert final.usage_metadata is not None
    assert final.usage_metadata.prompt_token_count == 24
    second = claude.server.bodies[1]
    assert second["messages"][-1]["role"] == "assistant"
    assert second["messages"][-1]["content"][-1] == SERVER_USE
    assert final.content is not None
    body = claude.sent(user("Hi"), final.content, user("And?"))
    assert [b["type"] for b in body["messages"][1]["content"]] == [
        "text",
        "server_tool_use",
        "web_search_tool_result",
        "text",
    ]


@BOTH
def test_citations(claude: Caller, stream: bool) -> None:
    cited = {
        "type": "char_location",
        "cited_text": "blue sky",
        "document_index": 0,
        "document_title": "Sky",
        "start_char_index": 0,
        "end_char_index": 8,
    }
    final = claude.answered(Answer(parts=(text("So: "), text("It is blue.", citations=[cited]))), stream=stream)
    assert final.citation_metadata is not None
    (citation,) = final.citation_metadata.citations or ()
    assert (citation.title, citation.start_index, citation.end_index) == ("Sky", 4, 15)
    metadata = _parts(final)[1].part_metadata
    assert metadata is not None
    assert metadata["citations"] == [cited]


@pytest.mark.parametrize(
    ("raw", "stop", "code"),
    [
        ('{"city": "Ro', "tool", "MALFORMED_FUNCTION_CALL"),
        ('["Rome"]', "tool", "MALFORMED_FUNCTION_CALL"),
        ('{"city": "Ro', "max", "MAX_TOKENS"),
        ("  ", "tool", None),
        ("null", "tool", None),
    ],
)
def test_arguments_that_are_no_object(claude: Caller, raw: str, stop: str, code: str | None) -> None:
    answer = Answer(parts=(call("weather", ROME),), stop=stop, raw_args=raw)
    final = claude.answered(answer, stream=True, tools=tools("weather"))
    assert final.error_code == code
    if code is None:
        assert [part.function_call.args for part in _parts(final) if part.function_call] == [{}]
    if code == "MAX_TOKENS":
        assert not (final.content and any(part.function_call for part in final.content.parts or ()))


def test_a_large_maximum_is_streamed_inside(claude: Caller) -> None:
    responses = claude.ask(user("Hi"), steps=Answer(parts=(text("Hello there."),)), max_output_tokens=64_000)
    (final,) = responses
    assert claude.server.bodies[-1]["stream"] is True
    assert [part.text for part in _parts(final)] == ["Hello there."]
    claude.ask(user("Hi"), max_output_tokens=8_000)
    assert "stream" not in claude.server.bodies[-1]


def test_an_answer_goes_back_as_it_came(claude: Caller) -> None:
    answer = Answer(parts=(text("I look."), call("weather", ROME, "toolu_01"), text("Meanwhile.")), stop="tool")
    for stream in (False, True):
        final = claude.answered(answer, stream=stream, tools=tools("weather"))
        assert final.content is not None
        history = [user("Hi"), final.content, user(result("weather", {"result": 1}, "toolu_01"))]
        blocks = claude.sent(*history, tools=tools("weather"))["messages"][1]["content"]
        assert [block["type"] for block in blocks] == ["text", "tool_use", "text"]
        assert json.dumps(blocks[1]["input"]) == json.dumps(ROME)


def test_a_call_of_another_provider_needs_no_id(claude: Caller) -> None:
    body = claude.sent(user("Hi"), types.Content(role="model", parts=[call_part("f")]), user("?"), tools=tools("f"))
    assert body["messages"][1]["content"][0]["id"]
