"""Context caching through the real SDK, against the local wire server."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from google import genai
from google.oauth2.credentials import Credentials

from newel import types
from newel.agents import LlmAgent, ParallelAgent, RunConfig, StreamingMode
from newel.agents.context_cache_config import ContextCacheConfig
from newel.apps import App
from newel.models import Gemini, LlmRequest, LlmResponse
from newel.models.cache_metadata import CacheMetadata
from newel.models.google.caches import GeminiContextCacheManager
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel.sessions.sqlite_session_service import SqliteSessionService
from newel.testing import ScriptedModel
from newel.utils.cache_performance_analyzer import CachePerformanceAnalyzer
from newel_kernel import Event, seam
from newel_testkit import GeminiServer

LONG = "Answer in one sentence, and be kind. " * 400
#: What the service says that a prompt with LONG costs.
LARGE = {"promptTokenCount": 4000, "totalTokenCount": 4010}
BOTH = pytest.mark.parametrize("stream", [False, True], ids=["unary", "streamed"])


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class Talk:
    """A session with an app that caches."""

    def __init__(
        self,
        root: Any = None,
        *,
        stream: bool = False,
        sessions: Any = None,
        distribution: str = "adk",
        **config: Any,
    ) -> None:
        root = root or LlmAgent(name="root", model=Gemini(model="gemini-2.5-flash"), instruction=LONG)
        app = App(name="t", root_agent=root, context_cache_config=ContextCacheConfig(**config))
        self.runner = Runner(
            app=app,
            session_service=sessions or InMemorySessionService(),
            auto_create_session=True,
            distribution=distribution,
        )
        self.config = RunConfig(streaming_mode=StreamingMode.SSE) if stream else RunConfig()

    def say(self, message: str) -> list[Event]:
        async def collect() -> list[Event]:
            events = self.runner.run_async(user_id="u", session_id="s", new_message=message, run_config=self.config)
            return [event async for event in events]

        return asyncio.run(collect())

    def last(self, message: str) -> CacheMetadata:
        """The metadata of the last event of a message."""
        found = self.say(message)[-1].cache_metadata
        assert isinstance(found, CacheMetadata)
        return found


def calls(server: GeminiServer) -> list[tuple[str, str]]:
    """Method and resource of each request."""
    return [
        (one.method, one.path.rpartition("/")[2].partition(":")[2] or "/".join(one.path.split("/")[2:]))
        for one in server.requests
    ]


def replies(server: GeminiServer, *texts: str) -> None:
    for text in texts:
        server.reply(text, usage=LARGE)


# --- the life of a cache ------------------------------------------------------------------------------


@BOTH
def test_a_start_that_stays_is_cached(gemini_server: GeminiServer, stream: bool) -> None:
    replies(gemini_server, "one", "two", "three")
    talk = Talk(stream=stream)
    first = talk.last("a")
    assert (first.cache_name, first.contents_count) == (None, 0)
    second = talk.last("b")
    assert second.cache_name == "cachedContents/c1"
    assert (second.contents_count, second.invocations_used) == (2, 1)
    third = talk.last("c")
    assert third == second.model_copy(update={"invocations_used": 2})

    generate = "streamGenerateContent" if stream else "generateContent"
    made = ("POST", "cachedContents")
    assert calls(gemini_server) == [("POST", generate), made, ("POST", generate), ("POST", generate)]
    cache = gemini_server.requests[1].body
    assert cache["model"] == "models/gemini-2.5-flash"
    assert cache["ttl"] == "1800s"
    assert cache["systemInstruction"]["parts"][0]["text"].startswith(LONG)
    assert [content["parts"][0]["text"] for content in cache["contents"]] == ["a", "one"]
    used = gemini_server.requests[2].body
    assert used["cachedContent"] == "cachedContents/c1"
    assert used["contents"] == [{"role": "user", "parts": [{"text": "b"}]}]
    assert "systemInstruction" not in used
    assert [c["parts"][0]["text"] for c in gemini_server.requests[3].body["contents"]] == ["b", "two", "c"]


def test_tokens_of_the_cache_are_on_the_event(gemini_server: GeminiServer) -> None:
    replies(gemini_server, "one", "two")
    talk = Talk()
    talk.say("a")
    used = talk.say("b")[-1].usage_metadata
    assert used is not None
    assert (used.cached_content_token_count or 0) > 2048


def test_tools_are_cached_and_still_run(gemini_server: GeminiServer) -> None:
    talk = Talk(LlmAgent(name="root", model=Gemini(model="gemini-2.5-flash"), instruction=LONG, tools=[add]))
    gemini_server.reply({"functionCall": {"name": "add", "args": {"a": 1, "b": 2}}}, usage=LARGE)
    replies(gemini_server, "3")
    events = talk.say("add 1 and 2")
    assert [bool(e.cache_metadata and e.cache_metadata.cache_name) for e in events] == [False, False, True]
    cache, use = (one.body for one in gemini_server.requests[1:])
    assert cache["tools"][0]["functionDeclarations"][0]["name"] == "add"
    assert [list(c["parts"][0]) for c in cache["contents"]] == [["text"], ["functionCall"]]
    assert "tools" not in use
    assert use["contents"][0]["parts"][0]["functionResponse"]["response"] == {"result": 3}


def test_an_instruction_that_changes_may_follow_a_static_one(gemini_server: GeminiServer) -> None:
    replies(gemini_server, *"123")
    agent = LlmAgent(name="root", model=Gemini(model="gemini-2.5-flash"), static_instruction=LONG)
    talk = Talk(agent)
    used = []
    for message in "abc":
        agent.instruction = f"This is turn {message}."
        used.append(talk.last(message).cache_name)
    assert used == [None, "cachedContents/c1", "cachedContents/c1"]
    last = gemini_server.requests[-1].body["contents"]
    assert [content["parts"][0]["text"] for content in last] == ["b", "2", "This is turn c.", "c"]


def test_another_start_ends_the_cache(gemini_server: GeminiServer) -> None:
    replies(gemini_server, "one", "two", "three")
    agent = LlmAgent(name="root", model=Gemini(model="gemini-2.5-flash"), instruction=LONG)
    talk = Talk(agent)
    talk.say("a")
    talk.say("b")
    agent.instruction = LONG + "Be brief."
    after = talk.last("c")
    assert (after.cache_name, after.contents_count) == (None, 4)
    assert calls(gemini_server)[3:] == [("DELETE", "cachedContents/c1"), ("POST", "generateContent")]
    assert not gemini_server.caches.by_name
    assert len(gemini_server.requests[-1].body["contents"]) == 5


def test_a_cache_serves_so_many_invocations(gemini_server: GeminiServer) -> None:
    replies(gemini_server, *"12345")
    talk = Talk(cache_intervals=2)
    uses = [(m.cache_name, m.invocations_used, m.contents_count) for m in map(talk.last, "abcde")]
    c1, c2 = "cachedContents/c1", "cachedContents/c2"
    assert uses == [(None, None, 0), (c1, 1, 2), (c1, 2, 2), (c2, 1, 6), (c2, 2, 6)]
    assert list(gemini_server.caches.by_name) == [c2]


def test_an_expired_cache_is_made_anew(gemini_server: GeminiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    replies(gemini_server, *"123")
    talk = Talk(ttl_seconds=60)
    talk.say("a")
    made = talk.last("b")
    assert made.expire_time is not None
    assert made.created_at is not None
    assert made.expire_time - made.created_at == pytest.approx(60, abs=5)
    monkeypatch.setattr(seam, "clock", lambda: made.expire_time)
    assert talk.last("c").cache_name == "cachedContents/c2"


@pytest.mark.parametrize(
    ("model", "minutes", "ttl_seconds", "made"),
    [
        ("gemini-2.5-flash", 1, 1800, 0),  # what the service keeps by itself costs no more, and no storage
        ("gemini-2.5-flash", 8, 1800, 1),
        ("gemini-2.5-flash", 8, 400, 0),  # nobody would use it again
        ("gemini-2.5-flash", 20, 1800, 0),
        ("gemini-2.0-flash", 1, 1800, 1),
        ("gemini-2.0-flash", 20, 1800, 0),
    ],
)
def test_standard_makes_a_cache_only_if_it_pays(
    gemini_server: GeminiServer,
    monkeypatch: pytest.MonkeyPatch,
    model: str,
    minutes: int,
    ttl_seconds: int,
    made: int,
) -> None:
    replies(gemini_server, *"12345")
    root = LlmAgent(name="root", model=Gemini(model=model), instruction=LONG)
    talk = Talk(root, distribution="standard", ttl_seconds=ttl_seconds)
    now = seam.clock()
    for turn, message in enumerate("abcde"):
        monkeypatch.setattr(seam, "clock", lambda turn=turn: now + turn * minutes * 60)
        talk.say(message)
    assert calls(gemini_server).count(("POST", "cachedContents")) == made
    assert all("cachedContent" not in one.body or made for one in gemini_server.requests)


@BOTH
def test_a_lost_cache_costs_a_request_and_not_the_turn(
    gemini_server: GeminiServer, stream: bool, caplog: pytest.LogCaptureFixture
) -> None:
    replies(gemini_server, *"1234")
    talk = Talk(stream=stream)
    talk.say("a")
    talk.say("b")
    gemini_server.caches.by_name.clear()
    assert talk.last("c").cache_name is None
    assert "cachedContent" not in gemini_server.requests[-1].body
    assert "cachedContents/c1 is gone: ClientError 403" in caplog.text
    assert talk.last("d").cache_name == "cachedContents/c2"


def test_an_error_that_is_not_the_caches_is_raised(gemini_server: GeminiServer) -> None:
    replies(gemini_server, *"12")
    talk = Talk()
    talk.say("a")
    talk.say("b")
    gemini_server.fail(403, "no permission")
    with pytest.raises(Exception, match="no permission"):
        talk.say("c")
    assert calls(gemini_server)[-1] == ("POST", "generateContent")
    assert len(gemini_server.requests) == 4


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # the SDK's own client, where aiohttp is installed
def test_on_vertex(gemini_server: GeminiServer) -> None:
    """Vertex AI names caches by project; without the projects' credentials only the manager can be tried."""

    async def run() -> tuple[CacheMetadata | None, LlmRequest]:
        client = genai.Client(
            vertexai=True,
            project="p",
            location="l",
            credentials=Credentials("token"),  # type: ignore[no-untyped-call]
            http_options={"base_url": gemini_server.url},
        )
        manager = GeminiContextCacheManager(client)
        config = types.GenerateContentConfig(system_instruction=LONG)
        request = LlmRequest(
            model="gemini-2.5-flash",
            contents=[types.Content(role="user", parts=[types.Part(text="hi")])],
            config=config,
            cache_config=ContextCacheConfig(),
            cacheable_contents_token_count=4000,
        )
        request.cache_metadata = await manager.handle_context_caching(request)
        made = await manager.handle_context_caching(request)
        return made, request

    made, request = asyncio.run(run())
    assert made is not None
    assert made.cache_name == "projects/p/locations/l/cachedContents/c1"
    assert request.config.cached_content == made.cache_name
    assert request.config.system_instruction is None
    assert len(request.contents) == 1


# --- when there is none -------------------------------------------------------------------------------


def test_small_prompts_are_not_cached(gemini_server: GeminiServer) -> None:
    for _ in range(3):
        gemini_server.reply("x")
    talk = Talk(LlmAgent(name="root", model=Gemini(model="gemini-2.5-flash"), instruction="Be kind."))
    assert [talk.last(m).contents_count for m in "abc"] == [0, 2, 4]
    assert calls(gemini_server) == [("POST", "generateContent")] * 3


def test_the_settings_have_a_minimum_of_their_own(gemini_server: GeminiServer) -> None:
    replies(gemini_server, *"12")
    talk = Talk(min_tokens=5000)
    assert [talk.last(m).cache_name for m in "ab"] == [None, None]


def test_a_refused_cache_costs_no_turn(gemini_server: GeminiServer, caplog: pytest.LogCaptureFixture) -> None:
    for text in "12":
        gemini_server.reply(text, usage={"promptTokenCount": 9000})
    talk = Talk(LlmAgent(name="root", model=Gemini(model="gemini-2.5-flash"), instruction="Be kind. " * 300))
    assert [talk.last(m).cache_name for m in "ab"] == [None, None]
    assert "no context cache was made for gemini-2.5-flash: ClientError 400" in caplog.text
    assert calls(gemini_server)[1] == ("POST", "cachedContents")


def test_the_option_of_making_a_cache_go_there_only(gemini_server: GeminiServer) -> None:
    replies(gemini_server, *"12")
    talk = Talk(create_http_options=types.HttpOptions(headers={"x-trace": "t1"}))
    talk.say("a")
    talk.say("b")
    assert [one.headers.get("x-trace") for one in gemini_server.requests] == [None, "t1", None]


def test_without_settings_nothing_is_noted(gemini_server: GeminiServer) -> None:
    replies(gemini_server, *"12")
    runner = Runner(
        app_name="t",
        agent=LlmAgent(name="root", model=Gemini(model="gemini-2.5-flash"), instruction=LONG),
        auto_create_session=True,
        distribution="adk",
    )

    async def run() -> list[Event]:
        return [e for m in "ab" async for e in runner.run_async(user_id="u", session_id="s", new_message=m)]

    assert [event.cache_metadata for event in asyncio.run(run())] == [None, None]
    assert len(gemini_server.requests) == 2


def test_a_cache_of_the_users_own_is_left_alone(gemini_server: GeminiServer) -> None:
    async def run() -> None:
        manager = GeminiContextCacheManager(genai.Client())
        request = LlmRequest(
            model="gemini-2.5-flash",
            config=types.GenerateContentConfig(cached_content="cachedContents/mine"),
            cache_config=ContextCacheConfig(),
            cache_metadata=CacheMetadata(fingerprint="x", contents_count=0),
        )
        assert await manager.handle_context_caching(request) is None
        assert request.config.cached_content == "cachedContents/mine"

    asyncio.run(run())


def test_the_order_of_tools_changes_no_fingerprint(gemini_server: GeminiServer) -> None:
    def declared(*names: str) -> list[types.Tool]:
        return [types.Tool(function_declarations=[types.FunctionDeclaration(name=name) for name in names])]

    async def fingerprint(**config: Any) -> str:
        request = LlmRequest(model="m", config=types.GenerateContentConfig(**config), cache_config=ContextCacheConfig())
        made = await GeminiContextCacheManager(genai.Client()).handle_context_caching(request)
        assert made is not None
        return made.fingerprint

    async def run() -> None:
        one = await fingerprint(tools=declared("a", "b"))
        assert one == await fingerprint(tools=declared("b", "a"))
        assert one != await fingerprint(tools=declared("a", "c"))
        assert one != await fingerprint(tools=declared("a", "b"), system_instruction="x")

    asyncio.run(run())


# --- what the model is told ---------------------------------------------------------------------------


def answer(text: str, **fields: Any) -> LlmResponse:
    return LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text)]), **fields)


def active(name: str, used: int = 1) -> CacheMetadata:
    return CacheMetadata(cache_name=name, expire_time=9e9, invocations_used=used, fingerprint="f", contents_count=1)


def seen_by(talk: Talk, message: str, agent: LlmAgent) -> list[tuple[Any, Any, Any]]:
    """Settings, cache metadata and prompt tokens of each request."""
    seen: list[tuple[Any, Any, Any]] = []

    def note(callback_context: Any, llm_request: LlmRequest) -> None:
        found = llm_request.cache_metadata
        about = (found.cache_name, found.invocations_used) if found is not None else None
        seen.append((llm_request.cache_config, about, llm_request.cacheable_contents_token_count))

    agent.before_model_callback = note
    talk.say(message)
    return seen


def test_the_request_tells_of_the_agents_own_cache() -> None:
    model = ScriptedModel(
        [
            answer("1", cache_metadata=active("c1"), usage_metadata={"prompt_token_count": 70}),
            answer("2"),
            answer("3"),
        ]
    )
    agent = LlmAgent(name="root", model=model)
    talk = Talk(agent, min_tokens=9)
    settings = ContextCacheConfig(min_tokens=9)
    assert seen_by(talk, "a", agent) == [(settings, None, None)]
    assert seen_by(talk, "b", agent) == [(settings, ("c1", 2), 70)]
    agent.name = "other"
    assert seen_by(talk, "c", agent) == [(settings, None, None)]


def test_within_an_invocation_a_cache_is_used_once() -> None:
    call = types.Part(function_call=types.FunctionCall(name="add", args={"a": 1, "b": 2}))
    first = LlmResponse(content=types.Content(role="model", parts=[call]), cache_metadata=active("c1", 3))
    agent = LlmAgent(name="root", model=ScriptedModel([first, answer("3")]), tools=[add])
    assert [about for _, about, _ in seen_by(Talk(agent), "a", agent)] == [None, ("c1", 3)]


def test_what_was_rewound_does_not_count() -> None:
    model = ScriptedModel(
        [answer("1", cache_metadata=active("c1")), answer("2", cache_metadata=active("c2")), answer("3")]
    )
    agent = LlmAgent(name="root", model=model)
    talk = Talk(agent)
    talk.say("a")
    undone = talk.say("b")[0].invocation_id
    asyncio.run(talk.runner.rewind_async(user_id="u", session_id="s", rewind_before_invocation_id=undone))
    assert [about for _, about, _ in seen_by(talk, "c", agent)] == [("c1", 2)]


def test_the_metadata_outlives_the_process(gemini_server: GeminiServer, tmp_path: Any) -> None:
    replies(gemini_server, *"123")
    path = str(tmp_path / "s.db")
    first = Talk(sessions=SqliteSessionService(path))
    first.say("a")
    first.say("b")
    asyncio.run(first.runner.session_service.close())  # type: ignore[attr-defined]
    again = Talk(sessions=SqliteSessionService(path))
    assert again.last("c").cache_name == "cachedContents/c1"


def test_parallel_agents_have_caches_of_their_own(gemini_server: GeminiServer) -> None:
    both = [
        LlmAgent(name=name, model=Gemini(model="gemini-2.5-flash"), instruction=f"You are {name}. {LONG}")
        for name in ("ann", "bob")
    ]
    replies(gemini_server, *"123456")
    talk = Talk(ParallelAgent(name="both", sub_agents=both))
    talk.say("a")
    talk.say("b")
    used = {event.author: event.cache_metadata.cache_name for event in talk.say("c") if event.cache_metadata}
    assert sorted(used) == ["ann", "bob"]
    assert sorted(name or "" for name in used.values()) == ["cachedContents/c1", "cachedContents/c2"]


# --- the specification's example ------------------------------------------------------------------------


def test_the_analyser_reports_what_was_saved(gemini_server: GeminiServer) -> None:
    replies(gemini_server, *"123")
    talk = Talk(cache_intervals=5)
    for message in "abc":
        talk.say(message)
    analyzer = CachePerformanceAnalyzer(session_service=talk.runner.session_service)
    where = {"session_id": "s", "user_id": "u", "app_name": "t"}
    report = asyncio.run(analyzer.analyze_agent_cache_performance(**where, agent_name="root"))
    assert report["status"] == "active"
    assert report["latest_cache"] == "cachedContents/c1"
    assert (report["cache_refreshes"], report["total_requests"], report["requests_with_cache_hits"]) == (1, 3, 2)
    assert report["cache_hit_ratio_percent"] > 50
    history = asyncio.run(analyzer._get_agent_cache_history(**where, agent_name=None))
    assert [one.invocations_used for one in history] == [None, 1, 2]


def test_a_provider_without_caches_ignores_the_settings(caplog: pytest.LogCaptureFixture) -> None:
    agent = LlmAgent(name="root", model=ScriptedModel(["1"]))
    with caplog.at_level(logging.WARNING):
        assert Talk(agent).say("a")[-1].cache_metadata is None
    assert not caplog.records
