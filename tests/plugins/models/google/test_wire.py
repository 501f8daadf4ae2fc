"""Gemini's tricky points, through the SDK and against the strict server."""

from __future__ import annotations

import asyncio
import base64
import traceback
from typing import Any

import pytest

from newel.models.google_llm import Gemini
from newel_kernel import LlmRequest, LlmResponse, ModelError
from newel_testkit import WIRE_KEY, GeminiServer, WireServer
from newel_testkit.gemini_server import text
from newel_testkit.wire import Answer, fault
from newel_testkit.wire.caller import HELLO, Caller, model, tools, user
from newel_testkit.wire.gemini_rules import camel
from newel_testkit.wire.schemas import camel_schema
from newel_types import FinishReason, FunctionDeclaration, HttpRetryOptions, Part, Tool

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
ONCE = HttpRetryOptions(attempts=1)
THIRD = "gemini-3-pro-preview"


@pytest.fixture
def gemini(wire_server: WireServer) -> Caller:
    return Caller(wire_server, lambda name: Gemini(model=name, retry_options=ONCE), "gemini-2.5-flash")


def ask(server: GeminiServer, *contents: Any, stream: bool) -> list[LlmResponse]:
    async def collect() -> list[LlmResponse]:
        request = LlmRequest(model="gemini-2.5-flash", contents=[*contents] or [user("Hi")])
        model = Gemini(retry_options=ONCE)
        return [response async for response in model.generate_content_async(request, stream=stream)]

    return asyncio.run(collect())


def test_stream_without_finish_reason_is_an_error(gemini: Caller) -> None:
    with pytest.raises(ModelError, match="without a finish reason"):
        gemini.ask(user("Hi"), steps=fault("stream_no_end"), stream=True)


def test_empty_stream_answer_has_a_final_response(gemini: Caller) -> None:
    final = gemini.answered(Answer(), stream=True)
    assert (final.finish_reason, final.error_code) == (FinishReason.STOP, None)
    assert final.usage_metadata.total_token_count == 17


@BOTH
def test_wrong_shape_is_an_error(gemini: Caller, stream: bool) -> None:
    for name in ("wrong_shape", "null", "malformed"):
        with pytest.raises(ModelError, match=r"no valid answer|broke off"):
            gemini.ask(user("Hi"), steps=fault(name), stream=stream)


@pytest.mark.parametrize("status", ["429", "503", "529"])
def test_retry_after_is_obeyed(wire_server: WireServer, status: str) -> None:
    patient = HttpRetryOptions(attempts=2, initial_delay=0.001, max_delay=0.002)
    caller = Caller(wire_server, lambda name: Gemini(model=name, retry_options=patient), "gemini-2.5-flash")
    caller.ask(user("Hi"), steps=[fault(status, retry_after=0.15), HELLO])
    first, second = (request.at for request in wire_server.log)
    assert second - first >= 0.15
    caller.ask(user("Hi"), steps=[fault("reset"), HELLO])
    assert len(wire_server.log) == 2


@BOTH
def test_signature_on_an_empty_last_text_part(gemini_server: GeminiServer, stream: bool) -> None:
    gemini_server.stream("Four.", text("", signature=b"gemini-sig:\xff\xfex"))
    gemini_server.reply("Yes.")
    final = ask(gemini_server, stream=stream)[-1]
    assert [part.text for part in final.content.parts] == ["Four.", ""]
    assert final.content.parts[1].thought_signature == b"gemini-sig:\xff\xfex"
    ask(gemini_server, user("Hi"), final.content, user("Sure?"), stream=stream)
    said, signed = gemini_server.requests[1].body["contents"][1]["parts"]
    assert (said, signed["text"]) == ({"text": "Four."}, "")
    assert base64.urlsafe_b64decode(signed["thoughtSignature"]) == b"gemini-sig:\xff\xfex"


def test_schema_subset(gemini: Caller) -> None:
    schema = {
        "type": "OBJECT",
        "required": ["name"],
        "properties": {
            "name": {"type": "STRING"},
            "tag": {"type": "STRING", "nullable": True},
            "key": {"any_of": [{"type": "STRING"}, {"type": "INTEGER"}]},
            "n": {"type": "INTEGER", "minimum": 1},
        },
    }
    own = FunctionDeclaration.model_validate({"name": "f", "description": "d", "parameters": schema})
    other = {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"type": "string"}}}
    declared = [Tool(function_declarations=[own]), *tools(g=other)]
    body = gemini.sent(user("Hi"), tools=declared)
    found = [one for tool in body["tools"] for one in tool["functionDeclarations"]]
    sent = camel_schema(found[0]["parameters"])["properties"]  # the service takes both spellings
    assert sent["key"]["anyOf"] == [{"type": "STRING"}, {"type": "INTEGER"}]
    assert sent["tag"]["nullable"] is True
    assert camel(found[1])["parametersJsonSchema"] == other


def test_json_with_tools_by_capability(gemini: Caller) -> None:
    assert not Gemini(model="gemini-2.5-flash").capabilities.output_schema_with_tools
    assert Gemini(model=THIRD).capabilities.output_schema_with_tools
    shaped = {"response_mime_type": "application/json", "response_schema": {"type": "OBJECT", "properties": {}}}
    body = gemini.sent(user("Hi"), tools=tools("f"), name=THIRD, **shaped)
    assert body["generationConfig"]["responseMimeType"] == "application/json"


@BOTH
def test_prompt_feedback_block(gemini_server: GeminiServer, stream: bool) -> None:
    feedback = {"blockReason": "SAFETY", "blockReasonMessage": "Not that."}
    gemini_server.stream({"promptFeedback": feedback, "usageMetadata": {"promptTokenCount": 5, "totalTokenCount": 5}})
    final = ask(gemini_server, stream=stream)[-1]
    assert (final.error_code, final.error_message, final.content) == ("SAFETY", "Not that.", None)
    assert final.usage_metadata.prompt_token_count == 5


@BOTH
@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"])
def test_finish_reasons_malformed_function_call_and_unexpected_tool_call(
    gemini_server: GeminiServer, reason: str, stream: bool
) -> None:
    gemini_server.stream({"candidates": [{"finishReason": reason, "finishMessage": "print(f())", "index": 0}]})
    final = ask(gemini_server, stream=stream)[-1]
    assert final.error_code == reason
    assert reason in final.error_message  # the SDK drops the service's own words
    assert final.finish_reason == FinishReason(reason)


@BOTH
def test_key_not_in_error_bodies(gemini: Caller, stream: bool) -> None:
    with pytest.raises(ModelError) as caught:
        gemini.ask(user("Hi"), steps=fault("400", message=f"the key {WIRE_KEY} is not valid"), stream=stream)
    error: Any = caught.value
    told = "".join(traceback.format_exception(error))
    while error is not None:
        response = getattr(error, "response", None)
        told += f"{error!r}{vars(error)}{getattr(response, 'text', '')}{getattr(error, 'details', '')}"
        error = error.__cause__
    assert "the key [api key] is not valid" in told
    assert WIRE_KEY not in told


def test_parts_that_are_the_services_own_pass(gemini: Caller) -> None:
    part = Part.model_validate({"executable_code": {"code": "1", "language": "PYTHON"}})
    body = gemini.sent(user("Hi"), model(part), user("And?"))
    assert body["contents"][1]["parts"][0]["executableCode"]["code"] == "1"
