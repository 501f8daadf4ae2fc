"""StreamingResponseAggregator: chunks in, partial responses and one whole answer out."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from google.genai import types as genai_types

from newel import types as t
from newel.models import LlmResponse
from newel.models.google.gemini import _ours
from newel.models.google.plain_chunks import plain_text
from newel.models.google.streaming import StreamingResponseAggregator
from newel_kernel import ModelError

STOP = t.FinishReason.STOP


def chunk(*parts: t.Part, finish: t.FinishReason | None = None, total: int | None = None, **candidate: Any) -> Any:
    usage = t.GenerateContentResponseUsageMetadata(total_token_count=total) if total is not None else None
    content = t.Content(role="model", parts=list(parts)) if parts else None
    return t.GenerateContentResponse(
        candidates=[t.Candidate(content=content, finish_reason=finish, **candidate)],
        usage_metadata=usage,
        model_version="m",
    )


def said(text: str, *, thought: bool | None = None, signature: bytes | None = None) -> t.Part:
    return t.Part(text=text, thought=thought, thought_signature=signature)


def call(signature: bytes | None = None, **fields: Any) -> t.Part:
    return t.Part(function_call=t.FunctionCall(**fields), thought_signature=signature)


def piece(path: str | None, **value: Any) -> t.PartialArg:
    return t.PartialArg(json_path=path, **value)


def feed(*chunks: Any) -> tuple[list[LlmResponse], LlmResponse | None]:
    async def run() -> tuple[list[LlmResponse], LlmResponse | None]:
        aggregator = StreamingResponseAggregator()
        partials = [r for c in chunks async for r in aggregator.process_response(c)]
        return partials, aggregator.close() or aggregator.failure()

    return asyncio.run(run())


def whole(*chunks: Any) -> LlmResponse:
    response = feed(*chunks)[1]
    assert response is not None
    return response


def parts(*chunks: Any) -> list[t.Part]:
    content = whole(*chunks).content
    assert content is not None
    assert content.parts is not None
    return content.parts


def arguments(*pieces: t.PartialArg) -> dict[str, Any] | None:
    [part] = parts(
        chunk(call(name="f", id="c", will_continue=True)),
        *(chunk(call(partial_args=[one], will_continue=True)) for one in pieces),
        chunk(call(will_continue=False), finish=STOP),
    )
    assert part.function_call is not None
    return part.function_call.args


def test_text_is_passed_on_and_joined() -> None:
    partials, final = feed(chunk(said("Hel")), chunk(said("lo")), chunk(said("!"), finish=STOP, total=7))
    assert [(p.partial, p.content.parts[0].text) for p in partials if p.content] == [
        (True, "Hel"),
        (True, "lo"),
        (True, "!"),
    ]
    assert final is not None
    assert final.partial is False
    assert final.content == t.Content(role="model", parts=[said("Hello!")])
    assert final.finish_reason == STOP
    assert final.error_code is None
    assert final.model_version == "m"
    assert final.usage_metadata is not None
    assert final.usage_metadata.total_token_count == 7


def test_thoughts_and_answers_are_parts_of_their_own() -> None:
    got = parts(
        chunk(said("th", thought=True)),
        chunk(said("ink", thought=True)),
        chunk(said("ans")),
        chunk(said("wer"), finish=STOP),
    )
    assert got == [said("think", thought=True), said("answer")]


def test_order_is_kept_around_calls_and_media() -> None:
    picture = t.Part(inline_data=t.Blob(data=b"x", mime_type="image/png"))
    asked = call(name="f", id="c1", args={"x": 1})
    got = parts(chunk(said("a")), chunk(asked), chunk(said("b"), picture), chunk(said("c"), finish=STOP))
    assert got == [said("a"), asked, said("b"), picture, said("c")]


def test_the_last_facts_count_even_if_a_later_chunk_lacks_them() -> None:
    grounding = t.GroundingMetadata(web_search_queries=["q"])
    final = whole(chunk(said("a"), total=5, grounding_metadata=grounding), chunk(said("b"), finish=STOP))
    assert final.usage_metadata is not None
    assert final.usage_metadata.total_token_count == 5
    assert final.grounding_metadata == grounding


def test_a_chunk_that_only_counts_tokens() -> None:
    counts = t.GenerateContentResponse(usage_metadata=t.GenerateContentResponseUsageMetadata(total_token_count=7))
    partials, final = feed(chunk(said("a"), finish=STOP), counts)
    assert partials[1].error_code is None
    assert final is not None
    assert final.error_code is None
    assert final.usage_metadata is not None
    assert final.usage_metadata.total_token_count == 7


# --- signatures ---------------------------------------------------------------------------------------


def test_a_signed_text_keeps_its_signature_and_its_place() -> None:
    got = parts(
        chunk(said("a")),
        chunk(said("b", signature=b"s1")),
        chunk(said("c")),
        chunk(said("", signature=b"s2"), finish=STOP),
    )
    assert got == [said("a"), said("b", signature=b"s1"), said("c"), said("", signature=b"s2")]


def test_a_signed_thought_keeps_its_signature() -> None:
    got = parts(chunk(said("t", thought=True, signature=b"s")), chunk(said("a"), finish=STOP))
    assert got == [said("t", thought=True, signature=b"s"), said("a")]


def test_a_streamed_call_keeps_the_signature_of_its_first_piece() -> None:
    got = parts(
        chunk(call(b"s1", name="f", id="c", will_continue=True)),
        chunk(call(partial_args=[piece("$.a", string_value="x")], will_continue=True)),
        chunk(call(will_continue=False)),
        chunk(call(name="g", id="d", will_continue=True)),
        chunk(call(partial_args=[piece("$.b", string_value="y")]), finish=STOP),
    )
    assert got == [call(b"s1", name="f", id="c", args={"a": "x"}), call(name="g", id="d", args={"b": "y"})]


# --- calls --------------------------------------------------------------------------------------------


def test_a_call_without_an_id_gets_one_for_chunk_and_whole() -> None:
    partials, final = feed(chunk(call(name="f", args={}), finish=STOP))
    assert final is not None
    ids = {r.content.parts[0].function_call.id for r in [*partials, final]}  # type: ignore[union-attr,index]
    assert len(ids) == 1
    assert ids.pop().startswith("adk-")  # type: ignore[union-attr]


def test_pieces_of_a_string_are_appended() -> None:
    assert arguments(piece("$.city", string_value="Os"), piece("$.city", string_value="lo")) == {"city": "Oslo"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (piece("$.n", number_value=59.9), {"n": 59.9}),
        (piece("$.b", bool_value=False), {"b": False}),
        (piece("$.z", null_value="NULL_VALUE"), {"z": None}),
        (piece("$.e", string_value=""), {"e": ""}),
        (piece("$.pos.lat", number_value=1.5), {"pos": {"lat": 1.5}}),
        (piece("$.a[0]", string_value="x"), {"a": ["x"]}),
        (piece("$.a[1].b", string_value="x"), {"a": [None, {"b": "x"}]}),
        (piece("$['a b'].c", string_value="x"), {"a b": {"c": "x"}}),
        (piece('$["it\\"s"]', string_value="x"), {'it"s': "x"}),
        (piece("$.a[0][1]", string_value="x"), {"a": [[None, "x"]]}),
        (piece("plain", string_value="x"), {"plain": "x"}),
        (piece("$.nothing"), {}),
        (piece(None, string_value="x"), {}),
    ],
)
def test_paths_and_values(given: t.PartialArg, expected: dict[str, Any]) -> None:
    assert arguments(given) == expected


def test_whole_numbers_are_integers() -> None:
    got = arguments(piece("$.n", number_value=3.0))
    assert got is not None
    assert type(got["n"]) is int


@pytest.mark.parametrize("path", ["$", "$[0]", "$.a[", "$.a[x]", "$..", "$.a[999999999]"])
def test_a_path_that_leads_nowhere_is_an_error(path: str) -> None:
    with pytest.raises(ModelError, match="argument"):
        arguments(piece(path, string_value="x"))


def test_a_path_through_a_plain_value_is_an_error() -> None:
    with pytest.raises(ModelError, match=r"'\$\.n\.k'"):
        arguments(piece("$.n", number_value=1), piece("$.n.k", string_value="x"))


def test_a_new_call_ends_the_one_before() -> None:
    got = parts(
        chunk(call(name="f", id="c", will_continue=True)),
        chunk(call(partial_args=[piece("$.a", string_value="x")], will_continue=True)),
        chunk(call(name="g", id="d", args={"q": 1}), finish=STOP),
    )
    assert got == [call(name="f", id="c", args={"a": "x"}), call(name="g", id="d", args={"q": 1})]


def test_text_between_pieces_comes_before_the_call() -> None:
    got = parts(
        chunk(said("hi")),
        chunk(call(name="f", id="c", will_continue=True)),
        chunk(said("!")),
        chunk(call(partial_args=[piece("$.a", string_value="x")]), finish=STOP),
    )
    assert got == [said("hi!"), call(name="f", id="c", args={"a": "x"})]


@pytest.mark.parametrize("finish", [t.FinishReason.MAX_TOKENS, None])
def test_half_a_call_is_no_call(finish: t.FinishReason | None) -> None:
    _, final = feed(
        chunk(call(name="f", id="c", will_continue=True)),
        chunk(call(partial_args=[piece("$.path", string_value="/home/me")], will_continue=True), finish=finish),
    )
    assert final is None or final.content is None
    assert (final.error_code if final else None) == (finish.value if finish else None)


# --- ends ---------------------------------------------------------------------------------------------


def test_nothing_came() -> None:
    assert StreamingResponseAggregator().close() is None


def test_the_model_said_nothing() -> None:
    assert feed(chunk(finish=STOP))[1] is None


def test_empty_texts_add_nothing_but_an_empty_answer_stays_one() -> None:
    assert parts(chunk(said("a")), chunk(said("")), chunk(said(""), finish=STOP)) == [said("a")]
    assert parts(chunk(said(""), finish=STOP)) == [said("")]


def test_an_answer_that_was_cut_off() -> None:
    cut = t.FinishReason.MAX_TOKENS
    final = whole(chunk(said("cut of")), chunk(said("f"), finish=cut, finish_message="too long"))
    assert final.content == t.Content(role="model", parts=[said("cut off")])
    assert (final.error_code, final.error_message) == ("MAX_TOKENS", "too long")
    assert final.finish_reason == cut


def test_an_end_without_content_keeps_what_came() -> None:
    final = whole(chunk(said("a")), chunk(finish=t.FinishReason.SAFETY, finish_message="m"))
    assert final.content == t.Content(role="model", parts=[said("a")])
    assert (final.error_code, final.error_message) == ("SAFETY", "m")


def test_a_blocked_prompt() -> None:
    blocked = t.GenerateContentResponsePromptFeedback(block_reason="SAFETY", block_reason_message="bad")
    final = whole(t.GenerateContentResponse(prompt_feedback=blocked))
    assert (final.content, final.error_code, final.error_message) == (None, "SAFETY", "bad")
    assert final.partial is False


def test_an_answer_without_a_word_is_no_answer() -> None:
    aggregator = StreamingResponseAggregator()
    aggregator.add(chunk(finish=t.FinishReason.SAFETY))
    assert aggregator.close() is None
    failure = aggregator.failure()
    assert failure is not None
    assert failure.error_code == "SAFETY"


def test_an_answer_in_words_is_no_failure() -> None:
    aggregator = StreamingResponseAggregator()
    aggregator.add(chunk(said("a"), finish=t.FinishReason.SAFETY))
    assert aggregator.close() is not None
    assert aggregator.failure() is None


def test_an_answer_without_candidates() -> None:
    assert whole(t.GenerateContentResponse()).error_code == "UNKNOWN_ERROR"


def test_the_sdks_own_responses_are_taken() -> None:
    from google.genai import types as sdk

    answer = sdk.GenerateContentResponse(
        candidates=[
            sdk.Candidate(
                content=sdk.Content(role="model", parts=[sdk.Part(text="hi", thought_signature=b"\xff")]),
                finish_reason=sdk.FinishReason.STOP,
            )
        ]
    )
    assert parts(answer) == [said("hi", signature=b"\xff")]


def test_changing_a_partial_response_leaves_the_whole_alone() -> None:
    aggregator = StreamingResponseAggregator()
    partial = aggregator.add(chunk(call(name="f", id="c", args={"x": 1}), finish=STOP))
    assert partial.content is not None
    partial.content.parts[0].function_call.args["x"] = 2  # type: ignore[index,union-attr]
    final = aggregator.close()
    assert final is not None
    assert final.content == t.Content(role="model", parts=[call(name="f", id="c", args={"x": 1})])


@pytest.mark.parametrize(
    "candidate",
    [
        {"content": {"role": "model", "parts": [{"text": "Hel"}]}, "index": 0},
        {"content": {"role": "model", "parts": [{"text": "Hm", "thought": True}]}},
        {"content": {"role": "model", "parts": [{"text": "lo"}]}, "finish_reason": "STOP"},
        {"content": {"role": "model", "parts": [{"text": "a"}, {"text": "b"}]}},
        {"content": {"role": "model", "parts": [{"text": "a", "thought_signature": b"x"}]}},
        {"content": {"role": "model", "parts": [{"text": ""}]}},
        {"content": {"role": "model", "parts": [{"function_call": {"name": "f", "args": {}}}]}},
        {"content": {"role": "model", "parts": [{"text": "a"}]}, "grounding_metadata": {"web_search_queries": ["q"]}},
        {"content": {"role": "model"}},
        {},
    ],
)
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"model_version": "m", "response_id": "r"},
        {"usage_metadata": {"prompt_token_count": 3, "candidates_token_count": 1, "total_token_count": 4}},
        {"usage_metadata": {"prompt_tokens_details": [{"modality": "TEXT", "token_count": 3}]}},
    ],
)
def test_a_plain_chunk_comes_out_as_any_other(candidate: dict[str, Any], more: dict[str, Any]) -> None:
    chunk = genai_types.GenerateContentResponse.model_validate({"candidates": [candidate], **more})
    long, short = StreamingResponseAggregator(), StreamingResponseAggregator()
    first = long.add(_ours(chunk))
    part = plain_text(chunk)
    second = short.add(_ours(chunk)) if part is None else short.add_plain(part, chunk)
    if first.content is not None and any(p.function_call for p in first.content.parts or ()):
        return  # it has an id of its own each time, and is never plain
    assert second == first
    assert short.whole() == long.whole()
    assert second.model_dump_json(exclude_none=True) == first.model_dump_json(exclude_none=True)
    assert part is None or (candidate.keys() <= {"content", "index"} and "prompt_tokens_details" not in str(more))
