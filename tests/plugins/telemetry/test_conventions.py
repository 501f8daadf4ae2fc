"""Both generations of the GenAI conventions: what each says of a run, and of the real SDKs' calls."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.trace import StatusCode

from newel.agents import LlmAgent, ParallelAgent, SequentialAgent
from newel.agents.run_config import RunConfig, StreamingMode
from newel.models import LlmResponse
from newel.models.policies.chain import PolicedLlm
from newel.telemetry.attributes import finish_reason
from newel.telemetry.generations import LATEST, OLD, chosen
from newel.testing import ScriptedModel, telemetry_findings
from newel.tools import FunctionTool
from newel.types import GenerateContentConfig
from newel_kernel import ModelError
from newel_testkit.wire import Answer, WireServer, fault
from newel_testkit.wire.environment import ELSEWHERE, variables
from newel_types import Blob, Content, FileData, FinishReason, FunctionCall, Part

_OPT_IN, _CONTENT = "OTEL_SEMCONV_STABILITY_OPT_IN", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
GENERATIONS = ("1.37", "0.1.0")


@pytest.fixture(params=GENERATIONS)
def generation(request: Any, monkeypatch: Any) -> str:
    monkeypatch.setenv(_OPT_IN, "" if request.param == "1.37" else "http, gen_ai_latest_experimental")
    return str(request.param)


@pytest.fixture
def latest(monkeypatch: Any) -> None:
    monkeypatch.setenv(_OPT_IN, "gen_ai_latest_experimental")


class Logs:
    """The log records of the SDK."""

    def __init__(self) -> None:
        self.exporter, self.provider = InMemoryLogRecordExporter(), LoggerProvider()
        self.provider.add_log_record_processor(SimpleLogRecordProcessor(self.exporter))

    def events(self) -> list[tuple[str, dict[str, Any]]]:
        records = [one.log_record for one in self.exporter.get_finished_logs()]
        return [(record.event_name or "", dict(record.attributes or {})) for record in records]


@pytest.fixture
def logs() -> Logs:
    return Logs()


def brew(leaf: str = "oolong") -> str:
    """Brews tea."""
    return f"a pot of {leaf}"


def smash() -> str:
    """Smashes the pot."""
    raise ValueError("the pot is gone")


def everything() -> SequentialAgent:
    """Tools side by side and failing, a handover, agents side by side, an answer that was cut."""
    cut = LlmResponse(content=Content(role="model", parts=[Part(text="tea is")]), finish_reason=FinishReason.MAX_TOKENS)
    files = [
        Part(inline_data=Blob(mime_type="image/png", data=b"1")),
        Part(file_data=FileData(file_uri="gs://a/b.pdf")),
    ]
    with_files = LlmResponse(content=Content(role="model", parts=files), finish_reason=FinishReason.STOP)
    cook = LlmAgent(name="cook", model=ScriptedModel([cut]))
    calls = [
        FunctionCall(name="brew", args={"leaf": "mint"}),
        FunctionCall(name="brew", args={}),
        FunctionCall(name="smash", args={}),
    ]
    waiter = LlmAgent(
        name="waiter",
        model=ScriptedModel([calls, FunctionCall(name="transfer_to_agent", args={"agent_name": "cook"})]),
        tools=[brew, smash],
        sub_agents=[cook],
        generate_content_config=GenerateContentConfig(temperature=0, top_k=3, response_mime_type="application/json"),
    )
    pair = [LlmAgent(name=name, model=ScriptedModel([with_files])) for name in ("left", "right")]
    return SequentialAgent(name="all", sub_agents=[waiter, ParallelAgent(name="both", sub_agents=pair)])


@pytest.mark.parametrize("content", ["spans", "events", "both", False])
def test_a_run_with_everything_keeps_the_conventions(
    play: Any, recording: Any, logs: Logs, generation: Any, content: Any
) -> None:
    play(
        everything(),
        distribution="standard",
        logger_provider=logs.provider,
        capture_content=content,
        run_config=RunConfig(streaming_mode=StreamingMode.SSE),
    )
    assert {span.attributes.get("gen_ai.operation.name") for span in recording.spans} >= {"chat", "invoke_agent"}
    found = telemetry_findings(
        recording.spans, recording.reader.get_metrics_data(), logs.events(), generation=generation
    )
    assert found == []
    assert bool(logs.events()) is (content in ("events", "both"))


def test_the_findings_of_spoilt_telemetry(play: Any, recording: Any, latest: None) -> None:
    play(LlmAgent(name="waiter", model=ScriptedModel(["tea"])))
    (problem,) = {finding.problem for finding in telemetry_findings(recording.spans, generation="1.37")}
    assert problem == "there are no spans of 'invoke_workflow'"
    tracer = recording.provider.get_tracer("theirs")
    spoilt: list[dict[str, Any]] = [
        {"gen_ai.agent.name": "waiter"},
        {"gen_ai.operation.name": "chat"},
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": 5},
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "x", "gen_ai.system": "openai"},
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "x", "gen_ai.mood": "good"},
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "x", "gen_ai.response.finish_reasons": ["max"]},
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "x", "gen_ai.response.finish_reasons": "stop"},
    ]
    for attributes in spoilt:
        recording.exporter.clear()
        with tracer.start_as_current_span("execute_tool x", attributes=attributes):
            pass
        assert telemetry_findings(recording.spans, generation="0.1.0"), attributes
    recording.exporter.clear()
    with tracer.start_as_current_span("execute_tool x", attributes=spoilt[3] | {}) as span:
        span.set_status(StatusCode.ERROR)
    assert any(one.name == "error.type" for one in telemetry_findings(recording.spans, generation="0.1.0"))
    assert telemetry_findings(events=[("gen_ai.nothing", {})])
    assert telemetry_findings(events=[("gen_ai.client.inference.operation.details", {})])


def test_events_alone_hold_the_messages(play: Any, recording: Any, logs: Logs, latest: None, monkeypatch: Any) -> None:
    monkeypatch.setenv(_CONTENT, "EVENT_ONLY")
    play(
        LlmAgent(name="waiter", model=ScriptedModel(["here you are"]), instruction="be kind"),
        logger_provider=logs.provider,
    )
    assert "here you are" not in "".join(span.to_json() for span in recording.spans)
    ((name, attributes),) = logs.events()
    assert name == "gen_ai.client.inference.operation.details"
    (message,) = json.loads(attributes["gen_ai.output.messages"])
    assert message["parts"] == [{"type": "text", "content": "here you are"}]
    assert "be kind" in attributes["gen_ai.system_instructions"]
    (record,) = logs.exporter.get_finished_logs()
    assert record.log_record.span_id == recording.one("chat scripted").context.span_id


def test_the_variable_chooses_the_generation(monkeypatch: Any) -> None:
    for value, expected in (
        ("", OLD),
        ("http", OLD),
        ("gen_ai_latest_experimental", LATEST),
        ("a,gen_ai_latest_experimental", LATEST),
    ):
        monkeypatch.setenv(_OPT_IN, value)
        assert chosen() is expected


def test_an_error_says_its_code_or_the_full_name_of_its_class(play: Any, recording: Any) -> None:
    for error, kind in (
        (ModelError("no", code=503), "503"),
        (ModelError("no", code="TIMEOUT"), "TIMEOUT"),
        (ModelError("no"), "newel_kernel._internal.errors.ModelError"),
        (ValueError("no"), "ValueError"),
    ):
        recording.exporter.clear()
        with pytest.raises(type(error)):
            play(LlmAgent(name="waiter", model=ScriptedModel([error])))
        assert {span.attributes["error.type"] for span in recording.spans} == {kind}


@pytest.mark.parametrize("reason", [None, *FinishReason])
def test_every_finish_reason_has_a_word(reason: FinishReason | None) -> None:
    words = {"stop", "length", "content_filter", "error"}
    answer = Content(role="model", parts=[Part(text="tea")])
    assert finish_reason(LlmResponse(content=answer, finish_reason=reason)) in (words if reason else {None})
    called = Content(role="model", parts=[Part.from_function_call(name="brew", args={})])
    assert finish_reason(LlmResponse(content=called, finish_reason=reason)) == "tool_call"


def test_a_tool_says_that_it_is_more_than_a_function(play: Any, recording: Any) -> None:
    class Service(FunctionTool):
        telemetry_type = "extension"

    play(
        LlmAgent(name="waiter", model=ScriptedModel([FunctionCall(name="brew", args={}), "so"]), tools=[Service(brew)])
    )
    assert recording.one("execute_tool brew").attributes["gen_ai.tool.type"] == "extension"


def test_the_provider_of_a_class_that_names_none_is_the_class_also_within_policies() -> None:
    inner = ScriptedModel(["tea"])
    assert (
        PolicedLlm(model="m", inner=inner, call=lambda *_: inner.generate_content_async(*_)).provider_name
        == "ScriptedModel"
    )


def test_the_calls_of_an_agent_are_counted(play: Any, recording: Any, latest: None) -> None:
    calls = [FunctionCall(name="brew", args={}), FunctionCall(name="brew", args={})]
    play(LlmAgent(name="waiter", model=ScriptedModel([calls, "so"]), tools=[brew]))
    ((models,), (tools,)) = (
        recording.points(f"gen_ai.invoke_agent.{kind}") for kind in ("inference_calls", "tool_calls")
    )
    assert (models.sum, tools.sum, models.attributes["gen_ai.agent.name"]) == (2, 2, "waiter")


# --- the real SDKs ----------------------------------------------------------------------------------------------------

#: Address of a model -> the wire's protocol, and the provider that traces name.
SERVED = {
    "anthropic:claude-sonnet-4-5": ("anthropic", "anthropic"),
    "openai:gpt-5": ("openai", "openai"),
    "openai-responses:gpt-5": ("openai-responses", "openai"),
    "gemini:gemini-2.5-flash": ("gemini", "gcp.gemini"),
    "litellm:openai/gpt-5": ("openai", "openai"),
    "litellm:anthropic/claude-sonnet-4-5": ("anthropic", "anthropic"),
}


@pytest.fixture
def wire(monkeypatch: Any) -> Iterator[Callable[[str], WireServer]]:
    with WireServer() as server:

        def lead(protocol: str) -> WireServer:
            for name in ELSEWHERE:
                monkeypatch.delenv(name, raising=False)
            for name, value in variables(server.base, (protocol,), "key-of-a-test-0123456789").items():
                monkeypatch.setenv(name, value)
            return server

        yield lead


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::ResourceWarning")  # LiteLLM's
@pytest.mark.parametrize("address", SERVED)
@pytest.mark.parametrize("streams", [False, True])
def test_a_call_through_a_real_sdk(
    play: Any, recording: Any, wire: Any, generation: Any, address: str, streams: bool
) -> None:
    protocol, provider = SERVED[address]
    server = wire(protocol)
    server.script(
        fault("503", retry_after=0),
        Answer(parts=({"text": "Here you are."},), usage={"input": 120, "output": 50, "cached": 40}),
    )
    config = RunConfig(streaming_mode=StreamingMode.SSE if streams else StreamingMode.NONE)
    play(LlmAgent(name="waiter", model=address), distribution="standard", run_config=config)
    (call,) = [one for one in recording.spans if "gen_ai.request.model" in one.attributes]
    attributes = dict(call.attributes)
    assert attributes["gen_ai.provider.name"] == provider
    assert attributes["server.address"] == "127.0.0.1"
    assert f":{attributes['server.port']}" in server.url
    assert attributes["gen_ai.response.id"]
    assert attributes["gen_ai.usage.input_tokens"] == 120
    assert attributes["gen_ai.response.finish_reasons"] == ("stop",)
    (retried,) = call.events
    assert (retried.name, retried.attributes["error.type"]) == ("newel.retry", "503")
    if generation == "0.1.0":
        assert attributes["gen_ai.usage.cache_read.input_tokens"] == 40
        assert attributes.get("gen_ai.request.stream", False) is streams
        assert (attributes.get("gen_ai.response.time_to_first_chunk", 0) > 0) is streams
    assert telemetry_findings(recording.spans, recording.reader.get_metrics_data(), generation=generation) == []
