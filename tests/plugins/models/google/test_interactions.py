"""Gemini through the Interactions API: the real SDK, against the local wire server."""

from __future__ import annotations

import asyncio
import base64
import logging
from typing import Any

import pytest
from pydantic import BaseModel

from newel import types
from newel.agents import LlmAgent, ParallelAgent, RunConfig, StreamingMode
from newel.agents.context_cache_config import ContextCacheConfig
from newel.apps import App
from newel.models import Gemini, LlmRequest, LlmResponse
from newel.models.google.interactions import api, requests
from newel.models.google.interactions.responses import response_of
from newel.models.google.interactions.streaming import StreamedInteraction
from newel.runners import Runner
from newel.testing import ScriptedModel
from newel_kernel import Event, FeatureUnavailableError, ModelError
from newel_testkit import GeminiServer
from newel_testkit.gemini_server import call, text
from newel_types import HttpRetryOptions

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["unary", "streamed"])


def model(**fields: Any) -> Gemini:
    return Gemini(**{"model": "gemini-2.5-flash", "use_interactions_api": True, **fields})


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class Talk:
    """A session with an agent."""

    def __init__(self, agent: Any = None, *, stream: bool = False, app: App | None = None) -> None:
        agent = agent or LlmAgent(name="root", model=model(), instruction="Be kind.", tools=[add])
        who: dict[str, Any] = {"app": app} if app is not None else {"app_name": "t", "agent": agent}
        self.runner = Runner(**who, auto_create_session=True, distribution="adk")
        self.config = RunConfig(streaming_mode=StreamingMode.SSE) if stream else RunConfig()

    def say(self, message: str) -> list[Event]:
        async def collect() -> list[Event]:
            events = self.runner.run_async(user_id="u", session_id="s", new_message=message, run_config=self.config)
            return [event async for event in events]

        return asyncio.run(collect())


def user(*said: str) -> types.Content:
    return types.Content(role="user", parts=[types.Part(text=one) for one in said])


def ask(llm: Gemini, *contents: types.Content, stream: bool = False, **config: Any) -> list[LlmResponse]:
    request = LlmRequest(contents=list(contents) or [user("hi")], config=types.GenerateContentConfig(**config))

    async def collect() -> list[LlmResponse]:
        return [response async for response in llm.generate_content_async(request, stream=stream)]

    return asyncio.run(collect())


def said(event: Event | LlmResponse) -> list[Any]:
    """Each part, shortly."""
    parts = event.content.parts if event.content is not None else None
    return [p.function_call.name if p.function_call else (p.text, p.thought or False) for p in parts or ()]


def user_input(*said: str) -> dict[str, Any]:
    return {"type": "user_input", "content": [{"type": "text", "text": one} for one in said]}


# --- conversations ------------------------------------------------------------------------------------


@BOTH
def test_only_what_is_new_is_sent(gemini_server: GeminiServer, stream: bool) -> None:
    gemini_server.stream("Hel", "lo", usage={"promptTokenCount": 3, "totalTokenCount": 5})
    gemini_server.reply("Bye.")
    talk = Talk(stream=stream)
    first, second = talk.say("hi"), talk.say("bye")
    assert said(first[-1]) == [("Hello", False)]
    assert [said(event) for event in first[:-1]] == ([[("Hel", False)], [("lo", False)]] if stream else [])
    assert all(event.partial for event in first[:-1])
    assert {event.interaction_id for event in first} == {"interaction-1"}
    assert second[-1].interaction_id == "interaction-2"
    assert first[-1].finish_reason == types.FinishReason.STOP
    assert first[-1].model_version == "gemini-2.5-flash"
    assert first[-1].usage_metadata is not None
    assert (first[-1].usage_metadata.prompt_token_count, first[-1].usage_metadata.total_token_count) == (3, 5)

    one, two = (request.body for request in gemini_server.requests)
    assert one["input"] == [user_input("hi")]
    assert "previous_interaction_id" not in one
    assert two["input"] == [user_input("bye")]
    assert two["previous_interaction_id"] == "interaction-1"
    assert one["system_instruction"] == two["system_instruction"]
    assert one["system_instruction"].startswith("Be kind.")
    assert [r.path.rpartition("/")[2] for r in gemini_server.requests] == ["interactions"] * 2


@BOTH
def test_calls_and_results(gemini_server: GeminiServer, stream: bool) -> None:
    gemini_server.reply(text("hm", thought=True, signature=b"sig"), call("add", {"a": 1, "b": 2}))
    gemini_server.reply("3")
    events = [event for event in Talk(stream=stream).say("add 1 and 2") if not event.partial]
    assert said(events[0]) == [("hm", True), "add"]
    [asked] = events[0].get_function_calls()
    assert asked.args == {"a": 1, "b": 2}
    assert said(events[-1]) == [("3", False)]
    one, two = (request.body for request in gemini_server.requests)
    assert one["tools"][0]["name"] == "add"
    assert one["tools"][0]["parameters"]["properties"]["a"]["type"] == "integer"
    assert one["tools"][0]["parameters"]["type"] == "object"
    assert two["previous_interaction_id"] == "interaction-1"
    assert two["input"] == [
        {"type": "thought", "signature": base64.b64encode(b"sig").decode()},
        {"type": "function_result", "name": "add", "call_id": asked.id, "result": {"result": 3}},
    ]


def test_a_conversation_that_began_elsewhere_is_sent_whole(gemini_server: GeminiServer) -> None:
    use = types.Part(function_call=types.FunctionCall(name="add", args={"a": 1, "b": 2}))
    script = ScriptedModel([LlmResponse(content=types.Content(role="model", parts=[use])), "It is 3."])
    agent = LlmAgent(name="root", model=script, tools=[add])
    talk = Talk(agent)
    talk.say("add 1 and 2")
    agent.model = model()
    gemini_server.reply("ok")
    talk.say("thanks")
    assert gemini_server.requests[0].body["input"] == [
        user_input("add 1 and 2"),
        {"type": "function_call", "id": "call_1", "name": "add", "arguments": {"a": 1, "b": 2}},
        {"type": "function_result", "call_id": "call_1", "name": "add", "result": {"result": 3}},
        {"type": "model_output", "content": [{"type": "text", "text": "It is 3."}]},
        user_input("thanks"),
    ]


def test_what_others_said_since_is_new(gemini_server: GeminiServer) -> None:
    other = LlmAgent(name="other", model=ScriptedModel(["I disagree."]))
    agent = LlmAgent(name="root", model=model(), sub_agents=[other])
    talk = Talk(agent)
    gemini_server.reply("one")
    gemini_server.reply(call("transfer_to_agent", {"agent_name": "other"}))
    gemini_server.reply("three")
    talk.say("a")
    talk.say("b")
    other.disallow_transfer_to_parent = True
    talk.say("c")
    assert gemini_server.requests[2].body["previous_interaction_id"] == "interaction-2"
    sent = gemini_server.requests[2].body["input"]
    assert [step["type"] for step in sent] == ["function_result", "user_input"]
    texts = [piece["text"] for piece in sent[1]["content"]]
    assert "[other] said: I disagree." in texts
    assert texts[-1] == "c"


def test_parallel_agents_each_continue_their_own(gemini_server: GeminiServer) -> None:
    both = [LlmAgent(name=name, model=model()) for name in ("ann", "bob")]
    talk = Talk(ParallelAgent(name="both", sub_agents=both))
    for answer in "1234":
        gemini_server.reply(answer)
    first = {event.author: event.interaction_id for event in talk.say("a")}
    talk.say("b")
    continued = [request.body["previous_interaction_id"] for request in gemini_server.requests[2:]]
    assert sorted(continued) == sorted(first.values())  # type: ignore[type-var]


def test_an_isolated_run_is_another_conversation(gemini_server: GeminiServer) -> None:
    talk = Talk()
    gemini_server.reply("1")
    talk.say("a")

    async def add_isolated() -> None:
        session = await talk.runner.session_service.get_session(app_name="t", user_id="u", session_id="s")
        assert session is not None
        event = Event(author="root", interaction_id="isolated", isolation_scope="x", message="2")
        await talk.runner.session_service.append_event(session, event)

    asyncio.run(add_isolated())
    gemini_server.reply("3")
    talk.say("b")
    assert gemini_server.requests[-1].body["previous_interaction_id"] == "interaction-1"


def test_what_was_rewound_is_not_continued(gemini_server: GeminiServer) -> None:
    talk = Talk()
    for answer in "123":
        gemini_server.reply(answer)
    talk.say("a")
    undone = talk.say("b")[0].invocation_id
    asyncio.run(talk.runner.rewind_async(user_id="u", session_id="s", rewind_before_invocation_id=undone))
    talk.say("c")
    assert gemini_server.requests[-1].body["previous_interaction_id"] == "interaction-1"


def test_a_failed_interaction_is_not_continued(gemini_server: GeminiServer) -> None:
    talk = Talk()
    gemini_server.reply("1")
    gemini_server.reply(finish="SAFETY")
    gemini_server.reply("3")
    talk.say("a")
    [failed] = talk.say("b")
    assert (failed.error_code, failed.interaction_id) == ("SAFETY", "interaction-2")
    talk.say("c")
    last = gemini_server.requests[-1].body
    assert last["previous_interaction_id"] == "interaction-1"
    assert last["input"] == [user_input("b", "c")]


def test_an_agent_that_is_to_see_the_current_turn_only_begins_anew(gemini_server: GeminiServer) -> None:
    talk = Talk(LlmAgent(name="root", model=model(), include_contents="none", tools=[add]))
    gemini_server.reply("1")
    gemini_server.reply(call("add", {"a": 1, "b": 2}))
    gemini_server.reply("3")
    talk.say("a")
    talk.say("b")
    previous = [request.body.get("previous_interaction_id") for request in gemini_server.requests]
    assert previous == [None, None, "interaction-2"]


def test_an_agent_without_a_model_has_its_parents(gemini_server: GeminiServer) -> None:
    gemini_server.reply("1")
    gemini_server.reply("2")
    leaf = LlmAgent(name="leaf")
    LlmAgent(name="top", model=model(), sub_agents=[leaf])
    talk = Talk(leaf)
    talk.say("a")
    talk.say("b")
    assert gemini_server.requests[1].body["previous_interaction_id"] == "interaction-1"


def test_caching_is_left_to_the_service(gemini_server: GeminiServer) -> None:
    agent = LlmAgent(name="root", model=model())
    gemini_server.reply("1")
    app = App(name="t", root_agent=agent, context_cache_config=ContextCacheConfig())
    assert Talk(app=app).say("a")[-1].cache_metadata is None


# --- requests -----------------------------------------------------------------------------------------


def test_settings(gemini_server: GeminiServer) -> None:
    class Answer(BaseModel):
        value: int

    gemini_server.reply('{"value": 1}')
    ask(
        model(),
        temperature=0.5,
        max_output_tokens=9,
        stop_sequences=["x"],
        response_schema=Answer,
        response_mime_type="application/json",
        store=False,
        thinking_config=types.ThinkingConfig(include_thoughts=True, thinking_level="low"),  # type: ignore[arg-type]
        safety_settings=[{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_ONLY_HIGH"}],
        tool_config={"function_calling_config": {"mode": "ANY", "allowed_function_names": ["f"]}},
        tools=[{"google_search": {}}, {"function_declarations": [{"name": "f"}]}],
        http_options={"headers": {"x-trace": "t1"}, "timeout": 9000},
    )
    [request] = gemini_server.requests
    assert request.headers["x-trace"] == "t1"
    body = request.body
    assert body["generation_config"] == {
        "temperature": 0.5,
        "max_output_tokens": 9,
        "stop_sequences": ["x"],
        "thinking_level": "low",
        "thinking_summaries": "auto",
        "tool_choice": {"allowed_tools": {"mode": "any", "tools": ["f"]}},
    }
    assert body["response_format"]["mime_type"] == "application/json"
    assert body["response_format"]["schema"]["properties"]["value"]["type"] == "integer"
    assert body["safety_settings"] == [{"type": "harassment", "threshold": "block_only_high"}]
    assert body["tools"] == [{"type": "google_search"}, {"type": "function", "name": "f"}]
    assert body["store"] is False
    assert not gemini_server.interactions.waiting


def test_media_and_nullable_parameters(gemini_server: GeminiServer) -> None:
    gemini_server.reply("ok")
    image = types.Part.from_bytes(data=b"\x89", mime_type="image/png")
    file = types.Part.from_uri(file_uri="https://x/y.pdf", mime_type="application/pdf")
    parameters = {"type": "OBJECT", "properties": {"a": {"type": "STRING", "nullable": True}}}
    ask(
        model(),
        types.Content(role="user", parts=[types.Part(text="look"), image, file]),
        tools=[{"function_declarations": [{"name": "f", "parameters": parameters}]}],
    )
    body = gemini_server.requests[0].body
    assert body["input"][0]["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image", "data": "iQ==", "mime_type": "image/png"},
        {"type": "document", "uri": "https://x/y.pdf", "mime_type": "application/pdf"},
    ]
    assert body["tools"][0]["parameters"]["properties"]["a"]["type"] == ["string", "null"]


def test_settings_without_a_counterpart_are_told_once(
    gemini_server: GeminiServer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "_warned", set())
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            gemini_server.reply("ok")
            ask(model(), top_k=3)
    assert [record.getMessage() for record in caplog.records] == [
        "the Interactions API has no counterpart for top_k: it is not sent"
    ]


def test_a_tool_that_is_not_there_is_named(gemini_server: GeminiServer) -> None:
    with pytest.raises(FeatureUnavailableError, match=r"the tool enterprise_web_search .* unset use_interactions_api"):
        ask(model(), tools=[{"enterprise_web_search": {}}])


def test_an_older_sdk_is_named(gemini_server: GeminiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "version", lambda name: "2.9.1")
    with pytest.raises(FeatureUnavailableError, match=r"google-genai 2\.30 or newer \(installed: 2\.9\.1\)"):
        ask(model())


# --- answers ------------------------------------------------------------------------------------------


@BOTH
def test_errors_are_those_of_the_other_api(gemini_server: GeminiServer, stream: bool) -> None:
    gemini_server.fail(429, "slow down")
    with pytest.raises(ModelError, match="answered 429: slow down") as raised:
        ask(model(retry_options=HttpRetryOptions(attempts=1)), stream=stream)
    assert raised.value.code == 429
    assert len(gemini_server.requests) == 1
    chain: BaseException | None = raised.value
    while chain is not None:
        assert "test-key-0123456789" not in f"{chain} {vars(chain)}"
        holder = getattr(chain, "request", None)
        assert holder is None or "x-goog-api-key" not in holder.headers
        chain = chain.__cause__ or chain.__context__


def test_retries_where_they_are_asked_for(gemini_server: GeminiServer) -> None:
    gemini_server.fail(503, "later")
    gemini_server.reply("ok")
    options = types.HttpRetryOptions(attempts=2, initial_delay=0.01, max_delay=0.02)
    assert said(ask(model(retry_options=options))[0]) == [("ok", False)]


def test_leaving_a_stream_closes_it(gemini_server: GeminiServer) -> None:
    gemini_server.stream("a", "b", then="hold")

    async def leave() -> None:
        llm = model()
        answers = llm.generate_content_async(LlmRequest(contents=[user("hi")]), stream=True)
        await anext(answers)
        await answers.aclose()

    asyncio.run(leave())
    assert gemini_server.abandoned.wait(60)


@BOTH
def test_an_answer_that_was_cut_off(gemini_server: GeminiServer, stream: bool) -> None:
    gemini_server.reply("half", finish="MAX_TOKENS")
    last = ask(model(), stream=stream)[-1]
    assert (said(last), last.finish_reason) == ([("half", False)], types.FinishReason.MAX_TOKENS)


@BOTH
def test_media_in_answers(gemini_server: GeminiServer, stream: bool) -> None:
    gemini_server.reply({"inlineData": {"mimeType": "image/png", "data": "iQ=="}})
    content = ask(model(), stream=stream)[-1].content
    assert content is not None
    assert content.parts is not None
    assert content.parts[0].inline_data == types.Blob(data=b"\x89", mime_type="image/png")


def test_steps_of_the_services_own_tools() -> None:
    cited = {"type": "url_citation", "url": "https://x", "title": "X", "start_index": 0, "end_index": 2}
    response = response_of(
        {
            "id": "i",
            "status": "completed",
            "steps": [
                {"type": "user_input", "content": [{"type": "text", "text": "echo"}]},
                {"type": "google_search_call", "id": "g", "arguments": {"queries": ["q"]}},
                {"type": "google_search_result", "call_id": "g", "result": [{"search_suggestions": "<p>"}]},
                {"type": "code_execution_call", "id": "c", "arguments": {"code": "1+1", "language": "python"}},
                {"type": "code_execution_result", "call_id": "c", "result": "2"},
                {"type": "something_new"},
                {"type": "model_output", "content": [{"type": "text", "text": "So.", "annotations": [cited]}]},
            ],
        }
    )
    assert response.content is not None
    code, ran, words = response.content.parts or ()
    assert code.executable_code == types.ExecutableCode(code="1+1", language="PYTHON")  # type: ignore[arg-type]
    assert ran.code_execution_result == types.CodeExecutionResult(output="2", outcome="OUTCOME_OK")  # type: ignore[arg-type]
    assert words.text == "So."
    grounds = response.grounding_metadata
    assert grounds is not None
    assert grounds.web_search_queries == ["q"]
    assert grounds.grounding_chunks is not None
    assert grounds.grounding_chunks[0].web is not None
    assert grounds.grounding_chunks[0].web.uri == "https://x"
    assert grounds.grounding_supports is not None
    assert grounds.grounding_supports[0].grounding_chunk_indices == [0]


def test_a_stream_in_several_interactions_is_one_answer() -> None:
    growing = StreamedInteraction()
    for number, status in enumerate(["requires_continuation", "completed"]):
        about = {"id": f"i{number}", "model": "m"}
        growing.add({"event_type": "interaction.created", "interaction": {**about, "status": "in_progress"}})
        growing.add({"event_type": "step.start", "index": 0, "step": {"type": "model_output"}})
        growing.add({"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": f"part {number}. "}})
        usage = {"total_input_tokens": 5}
        ended = {**about, "status": status, "usage": usage}
        growing.add({"event_type": "interaction.completed", "interaction": ended})
    response = growing.close()
    assert said(response) == [("part 0. ", False), ("part 1. ", False)]
    assert (response.interaction_id, response.finish_reason) == ("i1", types.FinishReason.STOP)
    assert response.usage_metadata is not None
    assert response.usage_metadata.prompt_token_count == 10


@pytest.mark.parametrize(
    ("events", "code", "message"),
    [
        ([{"event_type": "error", "error": {"code": "quota", "message": "no"}}], "quota", "no"),
        (
            [{"event_type": "interaction.status_update", "interaction_id": "i", "status": "budget_exceeded"}],
            "BUDGET_EXCEEDED",
            "the interaction ended with the status 'budget_exceeded'",
        ),
        ([], "UNKNOWN_ERROR", "the interaction ended with the status None"),
        (
            [
                {"event_type": "step.start", "index": 0, "step": {"type": "function_call", "id": "c", "name": "f"}},
                {"event_type": "step.delta", "index": 0, "delta": {"type": "arguments_delta", "arguments": '{"a'}},
                {"event_type": "step.stop", "index": 0},
            ],
            "MALFORMED_FUNCTION_CALL",
            "arguments of f are not JSON",
        ),
    ],
)
def test_streams_that_fail(events: list[dict[str, Any]], code: str, message: str) -> None:
    growing = StreamedInteraction()
    for event in events:
        growing.add(event)
    response = growing.close()
    assert (response.error_code, response.error_message, response.content) == (code, message, None)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"previous_interaction_id": "gone"}, "Interaction gone was not found."),
        ({"odd": 1}, "Unknown parameter 'odd'."),
        ({"input": []}, "input is required"),
        ({"input": [{"type": "function_result", "call_id": "c", "result": "x"}]}, "No function call with the id 'c'."),
        ({"input": [{"type": "function_call", "id": "c", "name": "f", "arguments": {}}]}, "Missing results of the"),
        ({"input": [{"type": "thought"}]}, "Missing signature in step of type thought"),
    ],
)
def test_the_server_refuses_what_the_service_refuses(fields: dict[str, Any], reason: str) -> None:
    told = GeminiServer().interactions.refusal({"model": "m", "input": "hi", **fields})
    assert told is not None
    assert told.startswith(reason)
