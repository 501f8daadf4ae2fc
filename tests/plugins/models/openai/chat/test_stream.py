"""Answers of Chat Completions, whole and streamed: both come out the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

from newel.models.openai import OpenAILlm, Profile
from newel.models.openai.chat.stream import Assembly
from newel.models.openai.declarations import Declarations
from newel.models.wire.answer import MALFORMED_CALLS
from newel.models.wire.names import Names
from newel.models.wire.service import Service
from newel.models.wire.signatures import kept_for
from newel_kernel import LlmResponse, ModelError
from newel_testkit.wire import fault
from newel_testkit.wire.answers import Answer, call, common_answers, text, thought
from newel_testkit.wire.caller import Caller, tools, user
from newel_types import FinishReason, GenerateContentConfig, Part

ANSWERS = common_answers()
ROME, OSLO = call("weather", {"city": "Rome"}, "1"), call("weather", {"city": "Oslo"}, "2")
BOTH = pytest.mark.parametrize("stream", [False, True])


def parts(response: LlmResponse) -> list[Part]:
    return (response.content.parts if response.content is not None else None) or []


def calls(response: LlmResponse) -> list[tuple[str | None, str | None, Any]]:
    made = [part.function_call for part in parts(response) if part.function_call is not None]
    return [(one.id, one.name, one.args) for one in made]


@pytest.mark.parametrize("name", ANSWERS)
def test_streaming_equals_unary(name: str, chat: Caller) -> None:
    answer = ANSWERS[name]
    whole, streamed = (chat.answered(answer, stream=stream) for stream in (False, True))
    assert whole == streamed
    shown = chat.ask(user("Hi"), steps=answer, stream=True)[:-1]
    assert "".join(part.text or "" for one in shown for part in parts(one)) == "".join(
        part.text or "" for part in parts(whole)
    )


@BOTH
@pytest.mark.parametrize("how", ["interleaved", "one_chunk", "whole", "no_index", "same_index"])
def test_streamed_calls_by_index(how: str, stream: bool, chat: Caller) -> None:
    kinds = ("whole", how) if how in ("no_index", "same_index") else (how,)
    answer = Answer(parts=(ROME, OSLO), stop="tool", piece=1, more={"calls": kinds})
    assert calls(chat.answered(answer, stream=stream)) == [
        ("1", "weather", {"city": "Rome"}),
        ("2", "weather", {"city": "Oslo"}),
    ]


def test_streamed_calls_that_share_index_0(chat: Caller) -> None:
    pieces: list[Any] = [
        {"index": 0, "id": "", "function": {"name": "a", "arguments": '{"n": 1}'}},
        {"index": 0, "id": "", "function": {"name": "a", "arguments": '{"n": 2}'}},
        {"id": "x", "function": {"name": "b", "arguments": {"n": 3}}},
        {"function": {"arguments": ""}},
    ]
    extra = tuple({"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]} for piece in pieces)
    response = chat.answered(Answer(stop="tool", extra_events=extra), stream=True)
    assert calls(response) == [(None, "a", {"n": 1}), (None, "a", {"n": 2}), ("x", "b", {"n": 3})]


@BOTH
@pytest.mark.parametrize(("raw", "args"), [(" ", {}), ("null", {}), ('{"a": 1}', {"a": 1})])
def test_arguments_that_are_objects(raw: str, args: Any, stream: bool, chat: Caller) -> None:
    answer = Answer(parts=(ROME,), stop="tool", raw_args=raw)
    assert calls(chat.answered(answer, stream=stream)) == [("1", "weather", args)]


@BOTH
@pytest.mark.parametrize("raw", ['{"city": "Ro', '["Rome"]', '"x"', "1", "NaN"])
def test_arguments_that_are_no_object(raw: str, stream: bool, chat: Caller) -> None:
    response = chat.answered(Answer(parts=(ROME,), stop="tool", raw_args=raw), stream=stream)
    assert response.finish_reason is FinishReason.MALFORMED_FUNCTION_CALL
    assert response.error_message
    assert (response.custom_metadata or {})[MALFORMED_CALLS]
    cut = chat.answered(Answer(parts=(text("So"), ROME), stop="max", raw_args=raw), stream=stream)
    assert cut.error_code == "MAX_TOKENS"
    assert calls(cut) == []


@BOTH
def test_nulls_of_strict_arguments_do_not_reach_the_tool(stream: bool, chat: Caller) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}
    answer = Answer(parts=(ROME,), stop="tool", raw_args='{"city": "Rome", "days": null}')
    response = chat.answered(answer, stream=stream, tools=tools(weather=schema))
    assert calls(response) == [("1", "weather", {"city": "Rome"})]


@BOTH
def test_names_come_back(stream: bool, chat: Caller) -> None:
    sent = chat.sent(user("Hi"), tools=tools("files.read:now"))["tools"][0]["function"]["name"]
    answer = Answer(parts=(call(sent, {}, "1"),), stop="tool")
    assert calls(chat.answered(answer, stream=stream, tools=tools("files.read:now"))) == [("1", "files.read:now", {})]


@BOTH
@pytest.mark.parametrize(
    ("stop", "reason", "coded"),
    [
        ("end", "STOP", False),
        ("tool", "STOP", False),
        ("max", "MAX_TOKENS", False),
        ("safety", "SAFETY", True),
        ("brand_new", "OTHER", False),
    ],
)
def test_finish_reasons(stop: str, reason: str, coded: bool, stream: bool, chat: Caller) -> None:
    response = chat.answered(Answer(parts=(text("Hi"),), stop=stop), stream=stream)
    assert response.finish_reason is FinishReason(reason)
    assert (response.error_code is not None) is coded
    assert (response.custom_metadata or {})["finish_reason"]


@BOTH
def test_refusal_is_not_an_answer(stream: bool, chat: Caller) -> None:
    response = chat.answered(Answer(parts=(text("x"),), more={"refusal": "I cannot."}), stream=stream)
    assert (response.error_code, response.error_message) == ("SAFETY", "I cannot.")
    assert parts(response) == []


@BOTH
def test_empty_choices(stream: bool, chat: Caller) -> None:
    with pytest.raises(ModelError):
        chat.answered(Answer(more={"no_choices": True}), stream=stream)


def test_chunks_that_say_nothing_are_passed_over(chat: Caller) -> None:
    odd: tuple[Any, ...] = (
        {"choices": []},
        {"choices": None, "prompt_filter_results": []},
        {"choices": [{"index": 0, "delta": None}]},
        {"choices": [{"index": 1, "delta": {"content": "another answer"}}]},
        {"brand": "new"},
    )
    response = chat.answered(Answer(parts=(text("Hi"),), extra_events=odd), stream=True)
    assert [part.text for part in parts(response)] == ["Hi"]


@BOTH
def test_cached_and_reasoning_tokens(stream: bool, chat: Caller) -> None:
    usage = {"input": 100, "cached": 60, "output": 30, "reasoning": 22}
    used = chat.answered(Answer(parts=(text("Hi"),), usage=usage), stream=stream).usage_metadata
    assert used is not None
    assert (used.prompt_token_count, used.cached_content_token_count) == (100, 60)
    assert (used.candidates_token_count, used.thoughts_token_count, used.total_token_count) == (8, 22, 130)
    assert chat.answered(Answer(parts=(text("Hi"),), usage={}), stream=stream).usage_metadata is None


def test_usage_of_streams(chat: Caller) -> None:
    growing = tuple({"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": n}} for n in (1, 2, 3))
    response = chat.answered(Answer(parts=(text("Hi"),), extra_events=growing), stream=True)
    assert response.usage_metadata is not None
    assert response.usage_metadata.candidates_token_count == 5


@BOTH
@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_reasoning_content_comes_back_as_thought(key: str, stream: bool, chat: Caller) -> None:
    answer = Answer(parts=(thought("Hm."), text("Yes.")), more={"reasoning_key": key})
    response = chat.answered(answer, stream=stream)
    assert [(part.text, part.thought) for part in parts(response)] == [("Hm.", True), ("Yes.", None)]


@BOTH
def test_thoughts_in_the_text_by_profile(stream: bool, chat: Caller) -> None:
    profile = Profile(base_url=chat.server.base["compatible"], think_tags=True)
    llm = OpenAILlm(model="m", endpoint="lab", profile=profile)
    answer = Answer(parts=(text("<think>Hm.</think>\n\nYes."),), piece=3)
    response = chat.answered(answer, stream=stream, llm=llm)
    assert [(part.text, part.thought) for part in parts(response)] == [("Hm.", True), ("Yes.", None)]
    plain = chat.answered(answer, stream=stream)
    assert parts(plain)[0].text == "<think>Hm.</think>\n\nYes."


def test_reasoning_details_are_kept_whole(chat: Caller) -> None:
    deltas = [{"type": "reasoning.text", "index": 0, "text": "H"}, {"type": "reasoning.text", "index": 0, "text": "m."}]
    extra = tuple({"choices": [{"index": 0, "delta": {"reasoning_details": [one]}}]} for one in deltas)
    response = chat.answered(Answer(parts=(thought("Hm."), text("Yes.")), extra_events=extra), stream=True)
    kept = kept_for(parts(response)[0], "openai", "reasoning_details")
    assert kept == [{"type": "reasoning.text", "index": 0, "text": "Hm."}]


@BOTH
def test_an_answer_that_is_no_object_comes_unwrapped(stream: bool, chat: Caller) -> None:
    answer = Answer(parts=(text('{"result": ["a", "b"]}'),), piece=2)
    response = chat.answered(answer, stream=stream, response_schema=list[str])
    assert parts(response)[0].text == '["a", "b"]'


@BOTH
def test_log_probabilities(stream: bool, chat: Caller) -> None:
    token = {"token": "Hi", "logprob": -0.5, "top_logprobs": [{"token": "Hi", "logprob": -0.5}]}
    answer = Answer(parts=(text("Hi"),), more={"logprobs": {"content": [token]}})
    response = chat.answered(answer, stream=stream, response_logprobs=True, logprobs=1)
    assert response.avg_logprobs == -0.5
    assert response.logprobs_result is not None
    assert response.logprobs_result.top_candidates is not None


def test_images_and_citations_of_an_answer(chat: Caller) -> None:
    message = {
        "images": [{"image_url": {"url": "data:image/png;base64,AAAA"}}, {"image_url": {"url": "x"}}],
        "annotations": [{"url_citation": {"url": "https://x", "start_index": 0, "end_index": 2}}],
    }
    response = chat.answered(Answer(parts=(text("Hi"),), more={"message": message}), stream=False)
    assert [part.inline_data.mime_type for part in parts(response) if part.inline_data] == ["image/png"]
    assert response.citation_metadata is not None
    assert response.citation_metadata.citations is not None
    assert [(one.uri, one.end_index) for one in response.citation_metadata.citations] == [("https://x", 2)]


def test_a_stream_may_end_without_a_reason_where_the_profile_says_so(chat: Caller) -> None:
    base = chat.server.base["compatible"]
    with pytest.raises(ModelError, match="without a finish reason"):
        chat.ask(user("Hi"), steps=fault("stream_no_end"), stream=True)
    llm = OpenAILlm(model="m", endpoint="lab", profile=Profile(base_url=base, finish_reason_optional=True))
    responses = chat.ask(user("Hi"), steps=fault("stream_no_end"), stream=True, llm=llm)
    assert responses[-1].finish_reason is FinishReason.STOP


@pytest.mark.parametrize("name", ["stream_error", "stream_bad_json", "stream_cut", "wrong_type"])
def test_error_in_a_200_stream(name: str, chat: Caller) -> None:
    shown: list[LlmResponse] = []
    with pytest.raises(ModelError):
        shown = chat.ask(user("Hi"), steps=fault(name), stream=True)
    assert shown == []


@BOTH
def test_an_error_in_an_answer_keeps_its_status(stream: bool, chat: Caller) -> None:
    """As OpenRouter reports one: status 200, the code in the body."""
    error = {"error": {"code": 402, "message": "no credits"}}
    raw = f"data: {json.dumps(error)}\n\n" if stream else json.dumps(error)
    with pytest.raises(ModelError, match="answered 402: no credits") as caught:
        chat.ask(user("Hi"), steps=fault("malformed", raw=raw.encode()), stream=stream)
    assert (caught.value.code, caught.value.retryable) == (402, False)


@pytest.mark.parametrize(
    "chunk",
    [
        {"choices": [{"index": 0, "delta": {"content": "Rome"}}]},
        {"choices": [{"delta": {"content": "Rome", "role": "assistant"}, "finish_reason": None}], "usage": None},
        {"choices": [{"index": 0, "delta": {"content": "<think>Rome"}}]},
        {"choices": [{"index": 1, "delta": {"content": "Rome"}}]},
        {"choices": [{"index": 0, "delta": {"content": [{"type": "text", "text": "Rome"}]}}]},
        {"choices": [{"index": 0, "delta": {"content": "Rome", "refusal": "No."}}]},
        {"choices": [{"index": 0, "delta": {"content": "Rome"}, "finish_reason": "length"}]},
        {"choices": [{"index": 0, "delta": {"content": "Rome"}, "logprobs": {"content": [{"token": "Rome"}]}}]},
        {"choices": [{"delta": {"content": "Rome"}}], "usage": {"prompt_tokens": 3, "completion_tokens": 1}},
        {"choices": [{"index": 0, "delta": None}]},
        {"choices": ["Rome"]},
        {"choices": "Rome"},
        {"choices": []},
        {},
    ],
    ids=str,
)
@pytest.mark.parametrize("tags", [False, True])
def test_a_plain_chunk_comes_out_as_any_other(
    chunk: dict[str, Any], tags: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fed() -> tuple[LlmResponse | None, LlmResponse | None, LlmResponse]:
        tools = Declarations(GenerateContentConfig(), Names(), lambda setting, text: None, strict=False)
        assembly = Assembly(Service("openai", "m"), Profile(think_tags=tags), Names(), tools)
        shown = assembly.feed({"id": "c", "model": "m", **chunk})
        assembly.feed({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        return (shown, *assembly.close())

    short = fed()
    monkeypatch.setattr("newel.models.openai.chat.stream.plain_text", lambda chunk: None)
    assert fed() == short
