"""Answers: one shape of finish reasons, calls and refusals."""

from __future__ import annotations

import pytest

from newel.models.wire.answer import Answer
from newel_types import FinishReason

REASONS = {"end": FinishReason.STOP, "length": FinishReason.MAX_TOKENS, "filter": FinishReason.SAFETY}


def test_text_that_comes_in_pieces_is_one_part_and_thoughts_stand_apart() -> None:
    answer = Answer("parrot")
    answer.thought("Hm.", "sig")
    answer.text("Hel")
    answer.text("lo")
    answer.text("Second", new=True)
    response = answer.response("end", REASONS)
    assert [part.text for part in response.content.parts] == ["Hm.", "Hello", "Second"]
    assert response.content.parts[0].thought_signature == b"sig"
    assert response.content.parts[0].part_metadata == {"provider": "parrot"}
    assert (response.finish_reason, response.error_code) == (FinishReason.STOP, None)
    assert response.custom_metadata == {"finish_reason": "end"}


@pytest.mark.parametrize(
    ("word", "reason", "code"),
    [
        ("length", "MAX_TOKENS", None),
        ("brand_new", "OTHER", None),
        (None, "OTHER", None),
        ("filter", "SAFETY", "SAFETY"),
    ],
)
def test_every_word_has_a_reason(word: str | None, reason: str, code: str | None) -> None:
    answer = Answer("parrot")
    answer.text("One")
    response = answer.response(word, REASONS)
    assert response.finish_reason.value == reason
    assert response.error_code == code
    assert bool(response.error_message) == bool(code)


def test_a_refusal_is_safety_with_its_text_as_the_message() -> None:
    answer = Answer("parrot")
    answer.refusal = "I will not."
    answer.call("c1", "add", "{}")
    response = answer.response("end", REASONS)
    assert (response.error_code, response.error_message) == ("SAFETY", "I will not.")
    assert response.content is None


def test_an_empty_answer_that_ended_well_is_one() -> None:
    response = Answer("parrot").response("end", REASONS)
    assert response.content.parts == []
    assert response.error_code is None
    assert Answer("parrot").response("length", REASONS).error_code == "MAX_TOKENS"


@pytest.mark.parametrize("text", [None, "", "  \n", "null", "{}"])
def test_blank_arguments_are_none(text: str | None) -> None:
    answer = Answer("parrot")
    answer.call("c1", "ping", text)
    response = answer.response("end", REASONS)
    assert response.content.parts[0].function_call.args == {}
    assert response.error_code is None


@pytest.mark.parametrize("text", ['{"city": "Ro', '["Rome"]', '"Rome"', "3", "true", '{"x": NaN}', "[" * 100_000])
def test_arguments_that_are_no_object_are_not_guessed(text: str) -> None:
    answer = Answer("parrot")
    answer.call("c0", "ping", "{}")
    answer.call("c1", "weather", text)
    response = answer.response("end", REASONS)
    assert response.error_code == "MALFORMED_FUNCTION_CALL"
    assert list(response.custom_metadata["newel.malformed_calls"]) == ["1"]
    assert [part.function_call.args for part in response.content.parts] == [{}, {}]


def test_arguments_that_the_token_limit_cut_are_not_dispatched() -> None:
    answer = Answer("parrot")
    answer.text("I look.")
    answer.call("c1", "weather", '{"city": "Ro')
    response = answer.response("length", REASONS)
    assert response.error_code == "MAX_TOKENS"
    assert [part.text for part in response.content.parts] == ["I look."]


@pytest.mark.parametrize("word", ["length", "brand_new"])
def test_thoughts_alone_are_not_an_answer_if_the_service_stopped_it(word: str) -> None:
    answer = Answer("parrot")
    answer.thought("Hm.", "sig")
    response = answer.response(word, REASONS)
    assert response.error_code == response.finish_reason.value
    assert [part.text for part in response.content.parts] == ["Hm."]
