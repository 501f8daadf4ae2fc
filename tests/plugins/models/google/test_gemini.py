"""Gemini through the real SDK, against the local wire server."""

from __future__ import annotations

import asyncio
import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from newel import types
from newel.agents import LlmAgent, RunConfig, StreamingMode
from newel.models import Gemini, LlmRequest, LlmResponse
from newel.models.google.backend import account
from newel.models.kinds import ModelProvider, model_of
from newel.runners import Runner
from newel_kernel import ModelError
from newel_testkit import GeminiServer
from newel_testkit.gemini_server import call, text
from newel_types import SharedContents, freeze

KEY = "test-key-0123456789"
ONCE = types.HttpRetryOptions(attempts=1)
BOTH = pytest.mark.parametrize("stream", [False, True], ids=["unary", "streamed"])


def user(said: str) -> types.Content:
    return types.Content(role="user", parts=[types.Part(text=said)])


def request(*contents: types.Content, **config: Any) -> LlmRequest:
    return LlmRequest(model="gemini-2.5-flash", contents=list(contents), config=types.GenerateContentConfig(**config))


def ask(model: Gemini, llm_request: LlmRequest, *, stream: bool = False) -> list[LlmResponse]:
    async def collect() -> list[LlmResponse]:
        return [response async for response in model.generate_content_async(llm_request, stream=stream)]

    return asyncio.run(collect())


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def runner(**agent: Any) -> Runner:
    root = LlmAgent(name="root", model="gemini-2.5-flash", **agent)
    return Runner(app_name="t", agent=root, auto_create_session=True, distribution="adk")


def say(run: Runner, message: str, *, stream: bool = False) -> list[Any]:
    config = RunConfig(streaming_mode=StreamingMode.SSE) if stream else RunConfig()

    async def collect() -> list[Any]:
        events = run.run_async(user_id="u", session_id="s", new_message=message, run_config=config)
        return [event async for event in events]

    return asyncio.run(collect())


# --- answers ------------------------------------------------------------------------------------------


def test_a_whole_answer(gemini_server: GeminiServer) -> None:
    gemini_server.reply("Hello.", usage={"promptTokenCount": 3, "totalTokenCount": 5})
    [response] = ask(Gemini(), request(user("hi")))
    assert response.content == types.Content(role="model", parts=[types.Part(text="Hello.")])
    assert response.partial is None
    assert response.finish_reason == types.FinishReason.STOP
    assert response.usage_metadata is not None
    assert response.usage_metadata.total_token_count == 5
    assert response.model_version == "gemini-2.5-flash"
    assert not gemini_server.requests[0].streamed
    assert gemini_server.requests[0].key == KEY


def test_a_streamed_answer(gemini_server: GeminiServer) -> None:
    gemini_server.stream("Hel", "lo", ".", usage={"totalTokenCount": 5})
    *chunks, whole = ask(Gemini(), request(user("hi")), stream=True)
    assert [(c.partial, c.content.parts[0].text) for c in chunks] == [(True, "Hel"), (True, "lo"), (True, ".")]
    assert whole.partial is False
    assert whole.content == types.Content(role="model", parts=[types.Part(text="Hello.")])
    assert whole.finish_reason == types.FinishReason.STOP
    assert whole.usage_metadata is not None
    assert whole.usage_metadata.total_token_count == 5
    assert gemini_server.requests[0].streamed


@BOTH
def test_a_blocked_prompt_is_an_error_response(gemini_server: GeminiServer, stream: bool) -> None:
    gemini_server.stream({"promptFeedback": {"blockReason": "SAFETY"}})
    response = ask(Gemini(), request(user("hi")), stream=stream)[-1]
    assert response.error_code == "SAFETY"
    assert not response.partial


@BOTH
def test_an_answer_without_candidates_is_an_unknown_error(gemini_server: GeminiServer, stream: bool) -> None:
    gemini_server.stream({"usageMetadata": {"totalTokenCount": 1}})
    response = ask(Gemini(), request(user("hi")), stream=stream)[-1]
    assert response.error_code == "UNKNOWN_ERROR"
    assert not response.partial


def test_a_stream_without_any_event_broke_off(gemini_server: GeminiServer) -> None:
    gemini_server.stream()
    with pytest.raises(ModelError, match="broke off: the stream ended without a finish reason"):
        ask(Gemini(retry_options=ONCE), request(user("hi")), stream=True)


@BOTH
def test_an_answer_that_was_cut_off_says_so(gemini_server: GeminiServer, stream: bool) -> None:
    gemini_server.stream("Once upon", finish="MAX_TOKENS")
    response = ask(Gemini(), request(user("tell")), stream=stream)[-1]
    assert response.content is not None
    assert response.finish_reason == types.FinishReason.MAX_TOKENS


def test_streamed_arguments_on_vertex(gemini_server: GeminiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_VERTEX_BASE_URL", gemini_server.url)
    gemini_server.stream(
        {"functionCall": {"name": "find", "id": "c1", "willContinue": True}},
        {"functionCall": {"partialArgs": [{"jsonPath": "$.city", "stringValue": "Os"}], "willContinue": True}},
        {"functionCall": {"partialArgs": [{"jsonPath": "$.city", "stringValue": "lo"}], "willContinue": True}},
        {"functionCall": {}},
    )
    whole = ask(Gemini(vertexai=True), request(user("where?")), stream=True)[-1]
    [part] = whole.content.parts
    assert part.function_call == types.FunctionCall(id="c1", name="find", args={"city": "Oslo"})


# --- through a runner ---------------------------------------------------------------------------------


@BOTH
def test_a_tool_call_and_its_result(gemini_server: GeminiServer, stream: bool) -> None:
    gemini_server.stream(text("I add.", thought=True), call("add", {"a": 1, "b": 2}, signature=b"\xff\xfbsigned"))
    gemini_server.stream("It is ", "3.")
    events = say(runner(instruction="Be brief.", tools=[add]), "1 + 2?", stream=stream)
    kept = [event for event in events if not event.partial]
    assert kept[0].get_function_calls()[0].args == {"a": 1, "b": 2}
    assert kept[1].get_function_responses()[0].response == {"result": 3}
    assert kept[2].content.parts[0].text == "It is 3."
    first, second = (recorded.body for recorded in gemini_server.requests)
    assert first["tools"][0]["functionDeclarations"][0]["name"] == "add"
    assert first["systemInstruction"]["parts"][0]["text"].startswith("Be brief.")
    assert first["contents"] == [{"role": "user", "parts": [{"text": "1 + 2?"}]}]
    asked, result = second["contents"][1:]
    assert asked["role"] == "model"
    assert asked["parts"][-1]["functionCall"] == {"name": "add", "args": {"a": 1, "b": 2}}
    assert types.Part.model_validate_json(_json(asked["parts"][-1])).thought_signature == b"\xff\xfbsigned"
    answer = {"name": "add", "response": {"result": 3}}
    assert result == {"role": "user", "parts": [{"functionResponse": answer}]}


def test_chunk_and_whole_name_a_call_alike(gemini_server: GeminiServer) -> None:
    gemini_server.stream("Adding.", call("add", {"a": 1, "b": 2}))
    gemini_server.stream("3")
    events = say(runner(tools=[add]), "1 + 2?", stream=True)
    ids = {c.id for event in events for c in event.get_function_calls()}
    assert len(ids) == 1


@BOTH
def test_the_second_turn_sends_the_first(gemini_server: GeminiServer, stream: bool) -> None:
    gemini_server.stream("One", ".")
    gemini_server.stream("Two", ".")
    run = runner()
    say(run, "first", stream=stream)
    say(run, "second", stream=stream)
    assert gemini_server.requests[1].body["contents"] == [
        {"role": "user", "parts": [{"text": "first"}]},
        {"role": "model", "parts": [{"text": "One."}]},
        {"role": "user", "parts": [{"text": "second"}]},
    ]


def test_parallel_calls_are_answered_in_one_turn(gemini_server: GeminiServer) -> None:
    gemini_server.reply(call("add", {"a": 1, "b": 2}), call("add", {"a": 3, "b": 4}))
    gemini_server.reply("3 and 7.")
    say(runner(tools=[add]), "both?")
    answers = gemini_server.requests[1].body["contents"][-1]["parts"]
    assert [answer["functionResponse"]["response"] for answer in answers] == [{"result": 3}, {"result": 7}]


# --- what goes over the wire --------------------------------------------------------------------------


def test_the_configuration_on_the_wire(gemini_server: GeminiServer) -> None:
    class Answer(BaseModel):
        city: str

    gemini_server.reply('{"city": "Oslo"}')
    declaration = types.FunctionDeclaration(
        name="f", description="d", parameters=types.Schema(type="OBJECT", properties={"q": types.Schema(type="STRING")})
    )
    asked = request(
        user("hi"),
        system_instruction="Be brief.",
        temperature=0.25,
        top_k=3,
        stop_sequences=["END"],
        max_output_tokens=64,
        response_schema=Answer,
        response_mime_type="application/json",
        thinking_config=types.ThinkingConfig(include_thoughts=True, thinking_level="LOW"),
        safety_settings=[types.SafetySetting(category="HARM_CATEGORY_HARASSMENT", threshold="BLOCK_NONE")],
        labels={"adk_agent_name": "root"},
    )
    asked.model = "gemini-3-flash"
    ask(Gemini(), asked)
    body = gemini_server.requests[0].body
    assert body["contents"] == [{"role": "user", "parts": [{"text": "hi"}]}]
    assert body["systemInstruction"]["parts"] == [{"text": "Be brief."}]
    assert body["safetySettings"] == [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}]
    generation = body["generationConfig"]
    assert generation["temperature"] == 0.25
    assert generation["topK"] == 3
    assert generation["stopSequences"] == ["END"]
    assert generation["maxOutputTokens"] == 64
    assert generation["responseSchema"]["properties"]["city"]["type"] == "STRING"
    assert _lower(generation["thinkingConfig"]) == {"includethoughts": True, "thinkinglevel": "LOW"}
    assert "labels" not in body
    assert "automaticFunctionCalling" not in body
    assert asked.config.labels == {"adk_agent_name": "root"}

    gemini_server.reply("ok")
    ask(Gemini(), request(user("hi"), tools=[types.Tool(function_declarations=[declaration])]))
    [tool] = gemini_server.requests[1].body["tools"]
    [declared] = tool["functionDeclarations"]
    assert declared["name"] == "f"
    assert declared["parameters"] == {"type": "OBJECT", "properties": {"q": {"type": "STRING"}}}


@pytest.mark.parametrize(
    "schema",
    [
        types.Schema(type="OBJECT", properties={"city": types.Schema(type="STRING")}),
        {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}},
    ],
    ids=["Schema", "dict"],
)
def test_a_response_schema_that_is_no_class(gemini_server: GeminiServer, schema: Any) -> None:
    gemini_server.reply("{}")
    ask(Gemini(), request(user("hi"), response_schema=schema, response_mime_type="application/json"))
    sent = gemini_server.requests[0].body["generationConfig"]["responseSchema"]
    assert sent["properties"]["city"]["type"] == "STRING"


def test_a_list_of_a_class_as_response_schema(gemini_server: GeminiServer) -> None:
    class City(BaseModel):
        name: str

    gemini_server.reply("[]")
    ask(Gemini(), request(user("hi"), response_schema=list[City], response_mime_type="application/json"))
    assert gemini_server.requests[0].body["generationConfig"]["responseSchema"]["type"] == "ARRAY"


def test_media_and_their_names(gemini_server: GeminiServer) -> None:
    gemini_server.reply("A cat.")
    parts = [
        types.Part(inline_data=types.Blob(data=b"\xff\xfe", mime_type="image/png", display_name="cat.png")),
        types.Part(file_data=types.FileData(file_uri="gs://b/cat", mime_type="image/png", display_name="cat")),
    ]
    asked = request(types.Content(role="user", parts=parts))
    ask(Gemini(), asked)
    inline, file = gemini_server.requests[0].body["contents"][0]["parts"]
    assert inline["inlineData"] == {"data": "__4=", "mimeType": "image/png"}
    assert file["fileData"] == {"fileUri": "gs://b/cat", "mimeType": "image/png"}
    assert parts[0].inline_data is not None
    assert parts[0].inline_data.display_name == "cat.png"


def test_null_values_of_a_result_are_sent(gemini_server: GeminiServer) -> None:
    gemini_server.reply("ok")
    asked = types.Content(role="model", parts=[types.Part.from_function_call(name="f", args={"x": None})])
    result = types.Content(role="user", parts=[types.Part.from_function_response(name="f", response={"r": None})])
    ask(Gemini(), request(user("hi"), asked, result))
    _, first, second = gemini_server.requests[0].body["contents"]
    assert first["parts"][0]["functionCall"]["args"] == {"x": None}
    assert second["parts"][0]["functionResponse"]["response"] == {"r": None}


@pytest.mark.parametrize("said", [[], ["hi", "An answer."]], ids=["nothing", "the model last"])
def test_a_conversation_ends_with_the_user(gemini_server: GeminiServer, said: list[str]) -> None:
    gemini_server.reply("ok")
    contents = [types.Content(role=role, parts=[types.Part(text=t)]) for role, t in zip(["user", "model"], said)]  # noqa: B905
    asked = request(*contents)
    ask(Gemini(), asked)
    sent = gemini_server.requests[0].body["contents"]
    assert len(sent) == len(said) + 1
    assert sent[-1]["role"] == "user"
    assert len(asked.contents) == len(said)


def test_shared_contents_stay_frozen(gemini_server: GeminiServer) -> None:
    gemini_server.reply("ok")
    committed = freeze(user("hi"))
    asked = LlmRequest(model="gemini-2.5-flash", contents=SharedContents([committed]))
    ask(Gemini(), asked)
    assert list.__getitem__(asked.contents, 0) is committed


def test_http_options_of_the_request(gemini_server: GeminiServer) -> None:
    gemini_server.reply("ok")
    options = types.HttpOptions(headers={"x-trace": "t1"}, extra_body={"serviceTier": "flex"})
    ask(Gemini(), request(user("hi"), http_options=options))
    assert gemini_server.requests[0].headers["x-trace"] == "t1"
    assert gemini_server.requests[0].body["serviceTier"] == "flex"
    assert gemini_server.requests[0].body["contents"] == [{"role": "user", "parts": [{"text": "hi"}]}]


def test_vertex_gets_labels_and_names(gemini_server: GeminiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    monkeypatch.setenv("GOOGLE_VERTEX_BASE_URL", gemini_server.url)
    gemini_server.reply("ok")
    picture = types.Part(inline_data=types.Blob(data=b"x", mime_type="image/png", display_name="cat"))
    ask(Gemini(), request(types.Content(role="user", parts=[picture]), labels={"team": "a"}))
    [sent] = gemini_server.requests
    assert "publishers/google/models" in sent.path
    assert sent.body["labels"] == {"team": "a"}
    assert sent.body["contents"][0]["parts"][0]["inlineData"]["displayName"] == "cat"


def test_base_url(gemini_server: GeminiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOOGLE_GEMINI_BASE_URL")
    gemini_server.reply("ok")
    ask(Gemini(base_url=gemini_server.url), request(user("hi")))


# --- errors -------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("code", [400, 403, 429, 500, 503])
def test_an_error_of_the_service_is_raised_without_the_key(
    gemini_server: GeminiServer, code: int, stream: bool
) -> None:
    gemini_server.fail(code, f"no luck with {KEY}")
    with pytest.raises(ModelError, match=str(code)) as caught:
        ask(Gemini(retry_options=ONCE), request(user("hi")), stream=stream)
    assert caught.value.code == code
    assert "no luck with [api key]" in str(caught.value)
    assert not _tells_the_key(caught.value)


def test_an_error_leaves_the_runner_as_it_is(gemini_server: GeminiServer) -> None:
    gemini_server.fail(429)
    with pytest.raises(ModelError, match="429"):
        say(runner(), "hi")


def test_an_error_in_the_middle_of_a_stream(gemini_server: GeminiServer) -> None:
    gemini_server.stream("Hel", {"error": {"code": 500, "message": "broke", "status": "INTERNAL"}})
    with pytest.raises(ModelError, match="broke"):
        ask(Gemini(), request(user("hi")), stream=True)


@BOTH
def test_a_dropped_connection_is_raised(gemini_server: GeminiServer, stream: bool) -> None:
    gemini_server.stream("Hel", "lo", then="drop")
    with pytest.raises(ModelError, match=r"could not be reached|broke off") as caught:
        ask(Gemini(retry_options=ONCE), request(user("hi")), stream=stream)
    assert not _tells_the_key(caught.value)


@BOTH
def test_malformed_json_is_raised(gemini_server: GeminiServer, stream: bool) -> None:
    gemini_server.raw('{"candidates": [')
    with pytest.raises(ModelError, match=r"no valid answer.*(JSON|Expecting)"):
        ask(Gemini(), request(user("hi")), stream=stream)


def test_nobody_listens(gemini_server: GeminiServer) -> None:
    url = gemini_server.url
    gemini_server.close()
    with pytest.raises(ModelError, match="could not be reached") as caught:
        ask(Gemini(base_url=url, retry_options=ONCE), request(user("hi")))
    assert not _tells_the_key(caught.value)


def test_retry_options(gemini_server: GeminiServer) -> None:
    gemini_server.fail(503, times=2)
    gemini_server.reply("ok")
    options = types.HttpRetryOptions(attempts=3, initial_delay=0.001, max_delay=0.002, jitter=0.0)
    [response] = ask(Gemini(retry_options=options), request(user("hi")))
    assert response.content is not None
    assert len(gemini_server.requests) == 3


def test_without_the_sdk(gemini_server: GeminiServer, monkeypatch: pytest.MonkeyPatch, composed: Any) -> None:
    monkeypatch.setitem(sys.modules, "google.genai", None)
    with pytest.raises(ModelError, match=r"(?m)^pip install 'newel\[gemini\]'$"):
        model_of(composed("adk"), "gemini-2.5-flash")
    with pytest.raises(ModelError, match=r"(?m)^pip install 'newel\[gemini\]'$"):
        ask(Gemini(), request(user("hi")))


def test_without_a_key(monkeypatch: pytest.MonkeyPatch, composed: Any, gemini_server: GeminiServer) -> None:
    monkeypatch.delenv("GOOGLE_API_KEY")
    agent = LlmAgent(name="root", model=Gemini())
    assert isinstance(agent.model, Gemini)
    with pytest.raises(ModelError, match=r"GOOGLE_API_KEY \(or GEMINI_API_KEY\)"):
        ask(agent.model, request(user("hi")))
    composition = composed("adk")
    with pytest.raises(ModelError, match="GOOGLE_API_KEY"):
        model_of(composition, "gemini-2.5-flash")
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    assert model_of(composition, "gemini-2.5-flash").model == "gemini-2.5-flash"


def test_vertex_without_a_project(monkeypatch: pytest.MonkeyPatch, gemini_server: GeminiServer) -> None:
    monkeypatch.delenv("GOOGLE_API_KEY")
    with pytest.raises(ModelError, match="GOOGLE_CLOUD_PROJECT"):
        ask(Gemini(vertexai=True), request(user("hi")))


RESOURCE = "projects/p/locations/l/publishers/google/models/gemini-2.5-pro"


@pytest.mark.parametrize(
    ("model", "chosen", "environment", "expected"),
    [
        (RESOURCE, {}, {}, {"project": "p", "location": "l"}),
        ("projects/p/locations/l/endpoints/1", {}, {"GOOGLE_CLOUD_PROJECT": "q"}, {"project": "p", "location": "l"}),
        (RESOURCE, {"project": "q"}, {}, {"project": "q", "location": "global"}),
        ("gemini-2.5-pro", {"project": "q"}, {"GOOGLE_CLOUD_LOCATION": "m"}, {"project": "q", "location": "m"}),
        (RESOURCE, {"project": "q", "location": "n"}, {"GOOGLE_API_KEY": KEY}, {"project": "q", "location": "n"}),
        ("gemini-2.5-pro", {}, {"GOOGLE_CLOUD_PROJECT": "q"}, {}),  # the SDK reads it
        (RESOURCE, {}, {"GOOGLE_API_KEY": KEY}, {}),  # the key may pay
        (RESOURCE, {}, {"GOOGLE_VERTEX_BASE_URL": "https://gateway"}, {}),  # the gateway may sign in
        (RESOURCE, {"base_url": "https://gateway"}, {}, {}),
    ],
)
def test_who_pays_on_vertex(
    model: str,
    chosen: dict[str, str],
    environment: dict[str, str],
    expected: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in (
        "GOOGLE_API_KEY",
        "GEMINI_API_KEY",
        "GOOGLE_CLOUD_PROJECT",
        "GOOGLE_CLOUD_LOCATION",
        "GOOGLE_VERTEX_BASE_URL",
    ):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert account(model, **chosen) == expected
    Gemini(model=model, vertexai=True, **chosen).check()  # whoever it is, somebody does


def test_vertex_without_a_sign_in_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in (("NO_GCE_CHECK", "true"), ("CLOUDSDK_CONFIG", str(tmp_path)), ("HOME", str(tmp_path))):
        monkeypatch.setenv(name, value)
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_VERTEX_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ModelError, match=r"needs a sign-in to Google Cloud: .*gcloud auth application-default login"):
        ask(Gemini(model=RESOURCE), request(user("hi")))


# --- connections --------------------------------------------------------------------------------------


@BOTH
def test_two_event_loops_in_a_row(gemini_server: GeminiServer, stream: bool) -> None:
    model = Gemini()
    for _ in range(2):
        gemini_server.reply("ok")
        assert ask(model, request(user("hi")), stream=stream)[-1].content is not None


def test_one_loop_reuses_its_connection(gemini_server: GeminiServer) -> None:
    model = Gemini()

    async def three() -> set[int]:
        clients = set()
        for _ in range(3):
            gemini_server.reply("ok")
            async for _response in model.generate_content_async(request(user("hi"))):
                bound = model.limits.response_bytes
                clients.add(id(await model._clients.client(lambda: pytest.fail("there is one"), bound)))
        return clients

    assert len(asyncio.run(three())) == 1


def test_closing_and_asking_again(gemini_server: GeminiServer) -> None:
    model = Gemini()

    async def twice() -> None:
        for _ in range(2):
            gemini_server.reply("ok")
            async for _response in model.generate_content_async(request(user("hi"))):
                pass
            await model.aclose()

    asyncio.run(twice())


def test_closing_a_stream_hangs_up(gemini_server: GeminiServer) -> None:
    gemini_server.stream("Hel", then="hold")
    model = Gemini()

    async def first_chunk() -> bool:
        responses = model.generate_content_async(request(user("hi")), stream=True)
        async for _ in responses:
            break
        await responses.aclose()
        return await asyncio.to_thread(gemini_server.abandoned.wait, 5)

    assert asyncio.run(first_chunk())


def test_cancelling_a_stream_hangs_up(gemini_server: GeminiServer) -> None:
    gemini_server.stream("Hel", then="hold")
    model = Gemini()

    async def cancelled() -> bool:
        arrived = asyncio.Event()

        async def read() -> None:
            async for _ in model.generate_content_async(request(user("hi")), stream=True):
                arrived.set()

        task = asyncio.create_task(read())
        await arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await asyncio.to_thread(gemini_server.abandoned.wait, 5)

    assert asyncio.run(cancelled())


def test_two_streams_at_once_close_their_own(gemini_server: GeminiServer) -> None:
    gemini_server.stream("a", "b", pause=0.01)
    gemini_server.stream("c", then="hold")
    model = Gemini()

    async def both() -> list[str]:
        one = model.generate_content_async(request(user("1")), stream=True)
        two = model.generate_content_async(request(user("2")), stream=True)
        heard = [await anext(one), await anext(two)]
        await two.aclose()
        return [r.content.parts[0].text for r in [*heard, *[r async for r in one]]]

    assert asyncio.run(both()) == ["a", "c", "b", "ab"]


# --- the provider -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("gemini-2.5-flash", "gemini-2.5-flash"),
        ("gemini:gemini-2.5-pro", "gemini-2.5-pro"),
        ("gemini:tuned-thing", "tuned-thing"),
        ("model-optimizer-exp-04-09", "model-optimizer-exp-04-09"),
        ("projects/p/locations/l/endpoints/1", "projects/p/locations/l/endpoints/1"),
        ("projects/p/locations/l/publishers/google/models/gemini-2.5-pro",) * 2,
    ],
)
def test_addresses(gemini_server: GeminiServer, composed: Any, address: str, name: str) -> None:
    model = model_of(composed("adk"), address)
    assert type(model) is Gemini
    assert model.model == name
    assert model.on_vertex is name.startswith("projects/")


def test_the_default_needs_a_key(gemini_server: GeminiServer, monkeypatch: pytest.MonkeyPatch, composed: Any) -> None:
    provider = composed("adk").registry.find(ModelProvider, "gemini")
    assert provider.default() == "gemini-3.5-flash-lite"
    monkeypatch.delenv("GOOGLE_API_KEY")
    assert provider.default() is None
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p")
    assert provider.default() is None
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "1")
    assert provider.default() == "gemini-3.5-flash-lite"


@pytest.mark.parametrize(
    ("model", "vertex", "expected"),
    [
        ("gemini-2.5-flash", True, True),
        ("gemini-2.5-flash", False, False),
        ("gemini-3-pro-preview", True, True),
        ("gemini-10", True, True),
        ("gemini-1.5-pro", True, False),
        ("gemini-flash-latest", True, False),
        ("projects/p/locations/l/publishers/google/models/gemini-2.5-pro", None, True),
        ("projects/p/locations/l/endpoints/1", None, False),
    ],
)
def test_a_schema_with_tools(model: str, vertex: bool | None, expected: bool) -> None:
    capabilities = Gemini(model=model, vertexai=vertex).capabilities
    assert capabilities.output_schema_with_tools is expected
    assert capabilities.thinking


def test_copies_and_pickles(gemini_server: GeminiServer) -> None:
    model = Gemini(model="gemini-2.5-pro")
    gemini_server.reply("ok")
    ask(model, request(user("hi")))
    for twin in (copy.deepcopy(model), model.model_copy(deep=True), pickle.loads(pickle.dumps(model))):
        gemini_server.reply("ok")
        assert twin.model == "gemini-2.5-pro"
        ask(twin, request(user("hi")))


def test_composing_loads_no_sdk() -> None:
    code = (
        "import sys, newel_compose; newel_compose.compose('standard');"
        "import newel.models, newel.testing, newel.models.google.gemini;"
        "sys.exit('google.genai' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=dict(os.environ), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def _json(value: Any) -> str:
    import json

    return json.dumps(value)


def _lower(value: dict[str, Any]) -> dict[str, Any]:
    """`value` with names as the service compares them: camelCase and snake_case are the same to it."""
    return {name.replace("_", "").lower(): inner for name, inner in value.items()}


def _tells_the_key(error: BaseException | None) -> bool:
    """Whether an error, or one it came from, shows the key in its text, its attributes or its request."""
    while error is not None:
        request_of = getattr(getattr(error, "response", None), "request", None) or getattr(error, "_request", None)
        shown = [str(error), repr(error.args), repr(getattr(error, "details", ""))]
        if request_of is not None:
            shown.append(repr(list(request_of.headers.items())))
        if any(KEY in text for text in shown):
            return True
        error = error.__cause__ or error.__context__
    return False
