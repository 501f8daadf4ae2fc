"""What spans and metrics say, in the words of the GenAI conventions; content only where it is asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from opentelemetry.trace import SpanKind

from newel.agents import LlmAgent
from newel.models import Gemini, LlmResponse
from newel.telemetry.content import without_secrets
from newel.testing import ScriptedModel
from newel.types import GenerateContentConfig
from newel_types import Content, FunctionCall, GenerateContentResponseUsageMetadata, Part

VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
USED = GenerateContentResponseUsageMetadata(
    prompt_token_count=11, candidates_token_count=5, thoughts_token_count=2, cached_content_token_count=3
)


def brew(leaf: str, api_key: str = "") -> dict[str, Any]:
    """Brews tea."""
    return {"pot": leaf, "access_token": "tea-secret"}


def waiter(*steps: Any, **fields: Any) -> LlmAgent:
    return LlmAgent(name="waiter", description="serves", model=ScriptedModel(steps, model="leaf-1"), **fields)


def answer(text: str) -> LlmResponse:
    return LlmResponse(
        content=Content(role="model", parts=[Part(text=text)]),
        finish_reason="STOP",
        model_version="leaf-1.5",
        usage_metadata=USED,
    )


BREWING = FunctionCall(id="call-1", name="brew", args={"leaf": "oolong", "api_key": "key-secret"})


def test_a_model_call(play: Any, recording: Any) -> None:
    config = GenerateContentConfig(max_output_tokens=99, top_p=0.5, temperature=0.1, stop_sequences=["."])
    events = play(waiter(answer("here you are"), generate_content_config=config))
    span = recording.one("chat leaf-1")
    assert span.kind is SpanKind.CLIENT
    assert dict(span.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "ScriptedModel",
        "gen_ai.agent.name": "waiter",
        "gen_ai.conversation.id": "s1",
        "gen_ai.request.model": "leaf-1",
        "gen_ai.request.max_tokens": 99,
        "gen_ai.request.top_p": 0.5,
        "gen_ai.request.temperature": 0.1,
        "gen_ai.request.stop_sequences": (".",),
        "gen_ai.response.model": "leaf-1.5",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 11,
        "gen_ai.usage.output_tokens": 7,
        "newel.usage.cache_read.input_tokens": 3,
        "newel.usage.reasoning.output_tokens": 2,
        "llm.token_count.prompt_details.cache_read": 3,
        "llm.token_count.completion_details.reasoning": 2,
        "braintrust.metrics.prompt_cached_tokens": 3,
        "gcp.vertex.agent.invocation_id": events[0].invocation_id,
    }


def test_an_agent_and_an_invocation(play: Any, recording: Any) -> None:
    events = play(waiter("tea"))
    assert dict(recording.one("invoke_agent waiter").attributes) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "waiter",
        "gen_ai.agent.description": "serves",
        "gen_ai.provider.name": "ScriptedModel",
        "gen_ai.conversation.id": "s1",
        "gcp.vertex.agent.invocation_id": events[0].invocation_id,
    }
    assert dict(recording.one("invocation").attributes) == {
        "session.id": "s1",
        "gcp.vertex.agent.invocation_id": events[0].invocation_id,
    }


def test_tool_calls(play: Any, recording: Any) -> None:
    events = play(waiter([BREWING, FunctionCall(name="brew", args={"leaf": "mint"})], "so", tools=[brew]))
    common = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.agent.name": "waiter",
        "gen_ai.conversation.id": "s1",
        "gcp.vertex.agent.invocation_id": events[0].invocation_id,
    }
    first, second = recording.named("execute_tool brew")
    assert first.kind is SpanKind.INTERNAL
    assert dict(first.attributes) == {
        **common,
        "gen_ai.tool.name": "brew",
        "gen_ai.tool.description": "Brews tea.",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "call-1",
    }
    assert second.attributes["gen_ai.tool.call.id"] == events[0].get_function_calls()[1].id


def test_a_model_can_say_who_serves_it() -> None:
    assert Gemini(model="gemini-2.5-flash", vertexai=False).provider_name == "gcp.gemini"
    assert Gemini(model="gemini-2.5-flash", vertexai=True).provider_name == "gcp.vertex_ai"


# --- content ----------------------------------------------------------------------------------------------------------


def everything(recording: Any) -> str:
    """All that the spans hold, as one text."""
    return "".join(span.to_json() for span in recording.spans)


def test_no_content_is_captured_unless_it_is_asked_for(play: Any, recording: Any, monkeypatch: Any) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    play(waiter(BREWING, answer("the answer"), tools=[brew], instruction="be kind"))
    held = everything(recording)
    for text in ("tea-secret", "key-secret", "oolong", "the answer", "be kind", '"tea"'):
        assert text not in held


def test_the_text_of_an_error_is_content(play: Any, recording: Any, monkeypatch: Any) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(RuntimeError):
        play(waiter(RuntimeError("ada's card is lost")))
    assert "card" not in everything(recording)
    assert '"error.type": "RuntimeError"' in everything(recording)


def test_captured_content_has_no_secrets(play: Any, recording: Any) -> None:
    play(waiter(BREWING, answer("here you are"), tools=[brew], instruction="be kind"), capture_content=True)
    assert "secret" not in everything(recording)
    tool = recording.one("execute_tool brew").attributes
    assert json.loads(tool["gcp.vertex.agent.tool_call_args"]) == {"leaf": "oolong", "api_key": "(withheld)"}
    assert json.loads(tool["gcp.vertex.agent.tool_response"]) == {"pot": "oolong", "access_token": "(withheld)"}
    _, last = recording.named("chat leaf-1")
    assert json.loads(last.attributes["gen_ai.output.messages"]) == [
        {"role": "assistant", "parts": [{"type": "text", "content": "here you are"}], "finish_reason": "stop"}
    ]
    shown_message, called, answered = json.loads(last.attributes["gen_ai.input.messages"])
    assert shown_message == {"role": "user", "parts": [{"type": "text", "content": "tea"}]}
    assert called["parts"][0] == {
        "type": "tool_call",
        "id": "call-1",
        "name": "brew",
        "arguments": {"leaf": "oolong", "api_key": "(withheld)"},
    }
    assert answered["role"] == "tool"
    (instruction,) = json.loads(last.attributes["gen_ai.system_instructions"])
    assert instruction["content"].startswith("be kind")


def test_a_captured_error_tells_its_text(play: Any, recording: Any) -> None:
    with pytest.raises(RuntimeError):
        play(waiter(RuntimeError("out of tea")), capture_content=True)
    (event,) = recording.one("chat leaf-1").events
    assert event.attributes["exception.message"] == "out of tea"


@pytest.mark.parametrize(
    ("value", "captured"),
    [
        ("true", True),
        ("SPAN_ONLY", True),
        ("span_and_event", True),
        ("1", True),
        ("false", False),
        ("EVENT_ONLY", False),
        ("no_content", False),
        ("", False),
    ],
)
def test_the_usual_variable_asks_for_content(
    play: Any, recording: Any, monkeypatch: Any, value: str, captured: bool
) -> None:
    monkeypatch.setenv(VARIABLE, value)
    play(waiter("the answer"))
    assert ("the answer" in everything(recording)) is captured


def test_the_setting_goes_before_the_variable(play: Any, recording: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv(VARIABLE, "true")
    play(waiter("the answer"), capture_content=False)
    assert "the answer" not in everything(recording)


def test_a_long_text_is_cut(play: Any, recording: Any) -> None:
    play(waiter("x" * 100), capture_content=True, max_text=10)
    assert "x" * 10 + "… (90 more characters)" in recording.one("chat leaf-1").attributes["gen_ai.output.messages"]


@pytest.mark.parametrize(
    "key",
    [
        "api_key",
        "apiKey",
        "API-KEY",
        "x-api-key",
        "clientSecret",
        "password",
        "token",
        "refresh_token",
        "Authorization",
        "private_key",
        "credentials",
        "Cookie",
    ],
)
def test_what_is_named_like_a_secret_is_withheld(key: str) -> None:
    assert without_secrets({"a": [{key: "hush"}]}, 100) == {"a": [{key: "(withheld)"}]}


@pytest.mark.parametrize("key", ["max_tokens", "token_count", "compass", "secretary", "passenger", "key"])
def test_what_only_resembles_one_is_not(key: str) -> None:
    assert without_secrets({key: "tell"}, 100) == {key: "tell"}


def test_the_arguments_and_answers_of_a_credential_request_are_withheld(play: Any, recording: Any) -> None:
    def adk_request_credential(config: dict[str, Any]) -> dict[str, Any]:
        """Asks."""
        return {"code": "hush"}

    credential_call = FunctionCall(name="adk_request_credential", args={"config": {"code": "hush"}})
    play(waiter(credential_call, "so", tools=[adk_request_credential]), capture_content=True)
    assert "hush" not in everything(recording)


# --- metrics ----------------------------------------------------------------------------------------------------------


def test_durations_and_tokens_are_measured(play: Any, recording: Any) -> None:
    play(waiter(BREWING, answer("so"), tools=[brew]))
    call = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "ScriptedModel",
        "gen_ai.request.model": "leaf-1",
        "gen_ai.agent.name": "waiter",
    }
    answered = {**call, "gen_ai.response.model": "leaf-1.5"}
    durations = {
        json.dumps(dict(p.attributes), sort_keys=True): p for p in recording.points("gen_ai.client.operation.duration")
    }
    assert set(durations) == {json.dumps(one, sort_keys=True) for one in (call, answered)}
    used = {p.attributes["gen_ai.token.type"]: p.sum for p in recording.points("gen_ai.client.token.usage")}
    assert used == {"input": 11, "output": 7}
    (tool,) = recording.points("newel.execute_tool.duration")
    labels = {"gen_ai.tool.name": "brew", "gen_ai.tool.type": "function", "gen_ai.agent.name": "waiter"}
    assert dict(tool.attributes) == labels
    (agent,) = recording.points("newel.invoke_agent.duration")
    assert (dict(agent.attributes), agent.count) == ({"gen_ai.agent.name": "waiter"}, 1)
    assert agent.sum >= tool.sum > 0


def test_failures_are_measured_as_such_and_a_made_up_name_is_no_label(play: Any, recording: Any) -> None:
    play(waiter(FunctionCall(name="juggle-4711"), "sorry", tools=[brew]), distribution="standard")
    (tool,) = recording.points("newel.execute_tool.duration")
    assert dict(tool.attributes) == {
        "gen_ai.agent.name": "waiter",
        "gen_ai.tool.name": "(unknown)",
        "gen_ai.tool.type": "function",
        "error.type": "ValueError",
    }
