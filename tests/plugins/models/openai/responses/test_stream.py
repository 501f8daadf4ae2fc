"""Answers of the Responses API, whole and streamed: both come out the same."""

from __future__ import annotations

from typing import Any

import pytest

from newel.models.openai import OpenAIResponsesLlm
from newel.models.wire.signatures import kept_for, signature_of
from newel_kernel import LlmResponse, ModelError
from newel_testkit.wire import fault
from newel_testkit.wire.answers import Answer, call, common_answers, text, thought
from newel_testkit.wire.caller import Caller, model, result, user
from newel_testkit.wire.openai_responses import encrypted
from newel_types import Content, FinishReason, Part

ANSWERS = common_answers()
ROME, OSLO = call("weather", {"city": "Rome"}, "1"), call("weather", {"city": "Oslo"}, "2")
BOTH = pytest.mark.parametrize("stream", [False, True])


def parts(response: LlmResponse) -> list[Part]:
    return (response.content.parts if response.content is not None else None) or []


def kinds(response: LlmResponse) -> list[str]:
    return ["call" if part.function_call else "thought" if part.thought else "text" for part in parts(response)]


@pytest.mark.parametrize("name", ANSWERS)
def test_streaming_equals_unary(name: str, responses: Caller) -> None:
    answer = ANSWERS[name]
    whole, streamed = (responses.answered(answer, stream=stream) for stream in (False, True))
    assert whole == streamed


@pytest.mark.parametrize("more", [{"interleaved": True}, {"no_output": True}, {"no_output": True, "no_done": True}])
def test_stream_by_output_index_and_item_id(more: dict[str, Any], responses: Caller) -> None:
    answer = Answer(parts=(thought("Hm."), text("So."), ROME, OSLO), piece=1, more=more)
    whole, streamed = (responses.answered(answer, stream=stream, name="gpt-5") for stream in (False, True))
    assert kinds(streamed) == ["thought", "text", "call", "call"]
    assert [part.text or part.function_call for part in parts(streamed)] == [
        part.text or part.function_call for part in parts(whole)
    ]


@BOTH
def test_text_after_a_call_keeps_order(stream: bool, responses: Caller) -> None:
    answer = Answer(parts=(text("A"), ROME, text("B")))
    assert kinds(responses.answered(answer, stream=stream)) == ["text", "call", "text"]


@BOTH
def test_summaries_become_thoughts(stream: bool, responses: Caller) -> None:
    answer = Answer(parts=({"thought": ["First.", "Second."]}, {"thought": ""}, ROME))
    response = responses.answered(answer, stream=stream, name="gpt-5")
    first, second, _ = parts(response)
    assert first.text == "First.\n\nSecond."
    assert kept_for(first, "openai-responses", "summaries") == ["First.", "Second."]
    assert second.text == ""
    assert signature_of(second, "openai-responses") == encrypted("").encode()
    history = [user("Hi"), Content(role="model", parts=parts(response))]
    body = responses.sent(*history, name="gpt-5")
    assert [item["type"] for item in body["input"]][1:4] == ["reasoning", "reasoning", "function_call"]
    assert [one["text"] for one in body["input"][1]["summary"]] == ["First.", "Second."]


@BOTH
@pytest.mark.parametrize(
    ("stop", "reason", "coded"), [("end", "STOP", False), ("max", "MAX_TOKENS", False), ("safety", "SAFETY", True)]
)
def test_incomplete_reasons(stop: str, reason: str, coded: bool, stream: bool, responses: Caller) -> None:
    response = responses.answered(Answer(parts=(text("So"),), stop=stop), stream=stream)
    assert response.finish_reason is FinishReason(reason)
    assert bool(response.error_code) is coded
    assert response.usage_metadata is not None


@BOTH
def test_failed_response_is_an_error(stream: bool, responses: Caller) -> None:
    with pytest.raises(ModelError, match="The model failed") as caught:
        responses.answered(
            Answer(parts=(text("So"),), stop="failed"), stream=stream, http_options={"retry_options": {"attempts": 1}}
        )
    assert (caught.value.code, caught.value.retryable) == ("server_error", True)


@pytest.mark.parametrize("stop", ["end", "max", "failed"])
def test_stream_ends_with_completed_incomplete_failed(stop: str, responses: Caller) -> None:
    answer = Answer(parts=(text("So"),), stop=stop)
    if stop != "failed":
        assert responses.answered(answer, stream=True).finish_reason is not None
        return
    with pytest.raises(ModelError, match="The model failed"):
        responses.answered(answer, stream=True)


def test_a_stream_without_its_end_is_an_error(responses: Caller) -> None:
    with pytest.raises(ModelError, match="before the response was completed"):
        responses.ask(user("Hi"), steps=fault("stream_no_end"), stream=True)


def test_error_event(responses: Caller) -> None:
    with pytest.raises(ModelError, match="no capacity") as caught:
        responses.ask(user("Hi"), steps=fault("stream_error", message="no capacity"), stream=True)
    assert caught.value.code == "server_error"


@BOTH
def test_refusal_content(stream: bool, responses: Caller) -> None:
    response = responses.answered(Answer(parts=(text("x"),), more={"refusal": "I cannot."}), stream=stream)
    assert (response.error_code, response.error_message) == ("SAFETY", "I cannot.")


@BOTH
def test_an_answer_without_output_says_so(stream: bool, responses: Caller) -> None:
    assert responses.answered(Answer(), stream=stream).error_code == "EMPTY_RESPONSE"


@BOTH
def test_empty_text_items_are_dropped(stream: bool, responses: Caller) -> None:
    response = responses.answered(Answer(parts=(text(""), ROME)), stream=stream)
    assert kinds(response) == ["call"]
    assert responses.answered(Answer(parts=(text(""),)), stream=stream).error_code is None


@BOTH
def test_unknown_items_and_events(stream: bool, responses: Caller) -> None:
    drawn = {"item": {"id": "ig_1", "type": "image_generation_call", "result": "AAAA"}}
    search = {"item": {"id": "ws_1", "type": "web_search_call", "status": "completed"}}
    extra = ({"type": "response.brand_new.delta", "delta": "x"}, {"type": "brand_new"})
    response = responses.answered(Answer(parts=(search, drawn, text("So.")), extra_events=extra), stream=stream)
    image, words = parts(response)
    assert image.inline_data is not None
    assert (image.inline_data.mime_type, words.text) == ("image/png", "So.")


@BOTH
def test_annotations_become_citations(stream: bool, responses: Caller) -> None:
    web = {"type": "url_citation", "url": "https://x.example", "title": "X", "start_index": 0, "end_index": 3}
    cited = {"type": "file_citation", "file_id": "file-1", "filename": "a.pdf", "index": 2}
    boxed = {"type": "container_file_citation", "file_id": "cf-1", "start_index": 1, "end_index": 2}
    answer = Answer(parts=(text("One."), text("Two.", annotations=[web, cited, boxed])))
    metadata = responses.answered(answer, stream=stream).citation_metadata
    assert metadata is not None
    assert [(one.uri, one.start_index, one.end_index) for one in metadata.citations or ()] == [
        ("https://x.example", 4, 7),
        ("file-1", 6, 6),
        ("cf-1", 5, 6),
    ]


@BOTH
def test_usage_details(stream: bool, responses: Caller) -> None:
    usage = {"input": 100, "cached": 60, "output": 30, "reasoning": 22}
    used = responses.answered(Answer(parts=(text("Hi"),), usage=usage), stream=stream).usage_metadata
    assert used is not None
    assert (used.prompt_token_count, used.cached_content_token_count) == (100, 60)
    assert (used.candidates_token_count, used.thoughts_token_count, used.total_token_count) == (8, 22, 130)
    assert responses.answered(Answer(parts=(text("Hi"),), usage={}), stream=stream).usage_metadata is None


@BOTH
def test_an_answer_that_is_no_object_comes_unwrapped(stream: bool, responses: Caller) -> None:
    answer = Answer(parts=(text('{"result": ["a", "b"]}'),), piece=2)
    response = responses.answered(answer, stream=stream, response_schema=list[str])
    assert parts(response)[0].text == '["a", "b"]'


class TestStored:
    """Conversations that the service keeps."""

    def talk(self, responses: Caller, llm: OpenAIResponsesLlm, *history: Content, **more: Any) -> Content:
        """One turn; the model's content."""
        answer = Answer(parts=(text("Yes."),))
        (response,) = responses.ask(*history, steps=answer, llm=llm, **more)
        assert response.content is not None
        return response.content

    def test_previous_response_id_sends_only_what_is_new(self, responses: Caller) -> None:
        llm = OpenAIResponsesLlm(model="gpt-4o", store=True)
        history = [user("One")]
        history += [self.talk(responses, llm, *history), user("Two")]
        history += [self.talk(responses, llm, *history), user("Three")]
        self.talk(responses, llm, *history)
        body = responses.server.bodies[-1]
        assert body["previous_response_id"] == "resp_2"
        assert [item["content"][0]["text"] for item in body["input"]] == ["Three"]

    def test_instructions_are_repeated_with_previous_response_id(self, responses: Caller) -> None:
        llm = OpenAIResponsesLlm(model="gpt-4o", store=True)
        said = self.talk(responses, llm, user("One"), system_instruction="Be brief.")
        self.talk(responses, llm, user("One"), said, user("Two"), system_instruction="Be brief.")
        body = responses.server.bodies[-1]
        assert body["previous_response_id"] == "resp_1"
        assert body["instructions"] == "Be brief."

    def test_a_result_continues_its_call(self, responses: Caller) -> None:
        llm = OpenAIResponsesLlm(model="gpt-4o", store=True)
        (response,) = responses.ask(user("Hi"), steps=Answer(parts=(ROME,)), llm=llm)
        assert response.content is not None
        self.talk(responses, llm, user("Hi"), response.content, user(result("weather", {"sky": "clear"}, "1")))
        body = responses.server.bodies[-1]
        assert [item["type"] for item in body["input"]] == ["function_call_output"]

    @pytest.mark.parametrize("change", ["fork", "compaction", "model"])
    def test_another_conversation_sends_the_whole_history(self, change: str, responses: Caller) -> None:
        llm = OpenAIResponsesLlm(model="gpt-4o", store=True)
        said = self.talk(responses, llm, user("One"))
        history = [user("Two" if change == "compaction" else "One"), said, user("More")]
        if change == "fork":
            history = [user("One"), model("No."), user("Hm."), said, user("More")]
        self.talk(responses, llm, *history, name="gpt-4.1" if change == "model" else "gpt-4o")
        body = responses.server.bodies[-1]
        assert "previous_response_id" not in body
        assert len(body["input"]) == len(history)

    @BOTH
    def test_lost_previous_response_falls_back_to_full_history(self, stream: bool, responses: Caller) -> None:
        llm = OpenAIResponsesLlm(model="gpt-4o", store=True)
        said = self.talk(responses, llm, user("One"))
        for part in said.parts or ():
            part.part_metadata = {**(part.part_metadata or {}), "response": "resp_lost"}
        found = responses.ask(user("One"), said, user("Two"), stream=stream, llm=llm)
        assert found[-1].error_code is None
        first, second = responses.server.bodies
        assert first["previous_response_id"] == "resp_lost"
        assert "previous_response_id" not in second
        assert len(second["input"]) == 3

    def test_nothing_is_stored_unless_it_is_asked_for(self, responses: Caller) -> None:
        said = self.talk(responses, OpenAIResponsesLlm(model="gpt-4o"), user("One"))
        assert all(part.part_metadata is None for part in said.parts or ())
        assert responses.server.bodies[-1]["store"] is False
