"""Every code example of S4 runs as printed, with the import root replaced and its undefined names supplied.

The examples stand in `s4/`. Gemini's part is played by a server on 127.0.0.1, which the real SDK asks.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, ModuleType, SimpleNamespace
from typing import Any

import pytest

from newel import Agent, Context, Runner, types
from newel.agents import InvocationContext, RunConfig, StreamingMode
from newel.agents.live_request_queue import LiveRequestQueue, ToolStream
from newel.apps import App
from newel.events import Event
from newel.runners import InMemoryRunner
from newel.sessions import InMemorySessionService
from newel.testing import ScriptedModel
from newel.workflow import DEFAULT_ROUTE, START, FunctionNode, JoinNode, NodeRunner, Workflow
from newel_compose import compose_once
from newel_kernel import BaseAgent
from newel_testkit import GeminiServer
from newel_testkit.gemini_server import call

EXAMPLES = Path(__file__).parent / "s4"


def play(name: str, replacing: dict[str, str] | None = None, **given: Any) -> dict[str, Any]:
    """Run an example with the names that its text leaves open; the names that it leaves behind."""
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    for printed, instead in (replacing or {}).items():
        assert printed in text
        text = text.replace(printed, instead)
    code: CodeType = compile(text, name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    names: dict[str, Any] = {"__name__": "example", **given}
    if code.co_flags & inspect.CO_COROUTINE:
        asyncio.run(eval(code, names))
    else:
        exec(code, names)
    return names


def say(agent: BaseAgent, *messages: str) -> list[Event]:
    """What `agent` yields to `messages`, one turn each."""

    async def whole() -> list[Event]:
        runner = InMemoryRunner(agent=agent)
        return [
            event
            for message in messages
            async for event in runner.run_async(user_id="u1", session_id="s1", new_message=message)
        ]

    return asyncio.run(whole())


def a_node(name: str) -> FunctionNode:
    def answer(node_input: Any) -> str:
        return f"{name} got {node_input}"

    return FunctionNode(func=answer, name=name)


# --- 1: Graph and Edge -------------------------------------------------------------------------------


@pytest.mark.parametrize(("message", "taken"), [("yes", "b"), ("no", "c"), ("perhaps", "d")])
def test_the_routing_map(message: str, taken: str) -> None:
    def choose(ctx: Context, node_input: str) -> str:
        ctx.emit_route(node_input)  # type: ignore[attr-defined]
        return node_input

    given = {f"node_{name}": a_node(name) for name in "bcd"}
    given["node_a"] = FunctionNode(func=choose, name="a")
    text = (EXAMPLES / "s01_routing_map.py").read_text(encoding="utf-8")
    made = eval(text, {"Workflow": Workflow, "START": START, "DEFAULT_ROUTE": DEFAULT_ROUTE, **given})
    assert say(made, message)[-1].output == f"{taken} got {message}"


def test_the_triage_workflow() -> None:
    workflow = play("s01_triage.py")["workflow"]
    events = say(workflow, "an URGENT matter", "a billing question", "hello")
    assert [event.output for event in events if event.output] == [
        "Escalating to on-call team…",
        "Routing to billing department…",
        "Handled by general support.",
    ]


# --- 2: NodeRunner -----------------------------------------------------------------------------------


def test_a_node_runner_tells_how_its_node_ended(capsys: pytest.CaptureFixture[str]) -> None:
    run_with_tracing = play("s02_tracing.py")["run_with_tracing"]

    def fails(node_input: Any) -> None:
        raise RuntimeError("no such thing")

    async def driver(ctx: Context) -> str:
        good = await run_with_tracing(NodeRunner(node=a_node("good"), parent_ctx=ctx), "x")
        bad = await run_with_tracing(NodeRunner(node=FunctionNode(func=fails, name="bad"), parent_ctx=ctx), "x")
        return f"{good.output}; {type(bad.error).__name__}"

    workflow = Workflow(name="wf", edges=[(START, FunctionNode(func=driver, rerun_on_resume=True))])
    assert say(workflow, "go")[-1].output == "good got x; RuntimeError"
    printed = capsys.readouterr().out
    assert "Node succeeded, output: good got x" in printed
    assert "bad" in printed
    assert "no such thing" in printed


# --- 3: NodeState and NodeStatus ---------------------------------------------------------------------


def test_the_state_of_a_workflow_shows_in_its_events(capsys: pytest.CaptureFixture[str]) -> None:
    edges = [(START, (a_node("left"), a_node("right")), JoinNode(name="join"))]
    play("s03_inspect.py", {"edges=[...]": "edges=edges"}, edges=edges, types=types)
    assert sorted(capsys.readouterr().out.splitlines()) == [
        "event from: demo, branch: None",
        "event from: demo, branch: left@1",
        "event from: demo, branch: right@1",
    ]


# --- 4: _ParallelWorker ------------------------------------------------------------------------------


def test_the_document_summariser(gemini_server: GeminiServer) -> None:
    def documents(node_input: str) -> list[str]:
        return node_input.split()

    for _ in range(3):
        gemini_server.reply("a summary")
    names = play("s04_parallel_worker.py")
    pipeline = names["pipeline"]
    whole = Workflow(name="whole", edges=[(START, documents, pipeline)])
    assert say(whole, "one two three")[-1].output == "- a summary\n- a summary\n- a summary"
    asked = [request.body["contents"] for request in gemini_server.requests]
    assert sorted(contents[0]["parts"][0]["text"] for contents in asked) == ["one", "three", "two"]
    assert all(len(contents) == 1 for contents in asked)


# --- 5: ActiveStreamingTool and TranscriptionEntry ----------------------------------------------------


def test_the_echo_tool_says_what_it_hears() -> None:
    tool = play("s05_streaming_tool.py")["EchoStreamingTool"]()
    audio = types.Blob(data=b"\x01\x02", mime_type="audio/pcm")

    async def whole() -> Any:
        service = InMemorySessionService()
        session = await service.create_session(app_name="app", user_id="u1")
        live = LiveRequestQueue()
        ctx = InvocationContext(
            session_service=service,
            session=session,
            agent=Agent(name="a"),
            composition=compose_once(None),
            run_config=RunConfig(),
            live_request_queue=live,
        )
        stream = ToolStream()
        stream.send_realtime(audio)
        stream.close()
        await tool.run_live(tool_context=Context(ctx), stream=stream)
        return await live.get()

    assert asyncio.run(whole()).blob == audio


# --- 6: CachePerformanceAnalyzer ----------------------------------------------------------------------


def test_a_session_without_a_cache_has_no_report() -> None:
    analyzer = play("s06_constructor.py")["analyzer"]
    where = {"app_name": "my_app", "user_id": "u1", "session_id": "sess-abc"}
    asyncio.run(analyzer.session_service.create_session(**where))
    assert play("s06_report.py", analyzer=analyzer)["report"] == {"status": "no_cache_data"}


def test_the_production_example_reports(gemini_server: GeminiServer, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(3):
        gemini_server.reply("an answer")
    names = play("s06_production.py")
    assert len(gemini_server.requests) == 3
    assert "No cache data recorded" in capsys.readouterr().out
    assert names["app"].context_cache_config.cache_intervals == 5


def test_the_history_of_all_agents(capsys: pytest.CaptureFixture[str]) -> None:
    analyzer = play("s06_constructor.py")["analyzer"]
    asyncio.run(analyzer.session_service.create_session(app_name="app", user_id="u1", session_id="1"))
    assert play("s06_history.py", analyzer=analyzer, session_id="1")["all_cache_history"] == []
    assert capsys.readouterr().out == "Total cache events across all agents: 0\n"


# --- 7: StreamingResponseAggregator --------------------------------------------------------------------


def test_the_typewriter_shows_each_chunk_once(gemini_server: GeminiServer, capsys: pytest.CaptureFixture[str]) -> None:
    gemini_server.stream("Mass ", "bends ", "space.")
    my_agent = Agent(name="teacher", model="gemini-2.5-flash")
    play("s07_typewriter.py", my_agent=my_agent, RunConfig=RunConfig, StreamingMode=StreamingMode)
    assert capsys.readouterr().out == "Mass bends space."


# --- 8: YAML ------------------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The app that the YAML examples belong to: what they name, in the folder they are in."""
    (tmp_path / "my_project").mkdir()
    written = {
        "my_project/__init__.py": "",
        "my_project/specialist_agents.py": "from newel import Agent\ncode_agent = Agent(name='coder')\n",
        "my_project/tools.py": (
            "def fetch_weather(api_key):\n"
            "    def weather(city: str) -> str:\n"
            "        '''The weather in a city.'''\n"
            "        return f'rain in {city}, says {api_key}'\n"
            "    return weather\n"
        ),
        "my_project/callbacks.py": (
            "seen = []\n"
            "def rate_limiter(max_calls_per_minute):\n"
            "    def limit(callback_context, llm_request):\n"
            "        seen.append(max_calls_per_minute)\n"
            "    return limit\n"
        ),
        "search_agent.yaml": "name: searcher\nmodel: gemini-2.5-flash\ndescription: Searches.\n",
        "math_agent.yaml": "name: mathematician\nmodel: gemini-2.5-flash\n",
    }
    for name, text in written.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def test_sub_agents_come_from_files_and_from_code(project: Path) -> None:
    (project / "coordinator.yaml").write_text((EXAMPLES / "s08_sub_agents.yaml").read_text(encoding="utf-8"))
    agent = play("s08_load_agent.py")["agent"]
    assert (agent.name, agent.model) == ("coordinator", "gemini-2.5-pro")
    assert [child.name for child in agent.sub_agents] == ["searcher", "mathematician", "coder"]


def test_tools_come_with_their_arguments(
    project: Path, monkeypatch: pytest.MonkeyPatch, gemini_server: GeminiServer
) -> None:
    monkeypatch.setenv("WEATHER_API_KEY", "key-from-the-environment")
    (project / "coordinator.yaml").write_text((EXAMPLES / "s08_tools.yaml").read_text(encoding="utf-8"))
    agent = play("s08_load_agent.py")["agent"]
    tools = {tool.name: tool for tool in asyncio.run(agent.canonical_tools())}
    assert list(tools) == ["google_search", "searcher", "weather"]
    assert tools["searcher"].skip_summarization is True
    agent.tools = agent.tools[2:]  # the service refuses its own search together with functions
    gemini_server.reply(call("weather", {"city": "Oslo"}))
    gemini_server.reply("It rains.")
    assert say(agent, "And in Oslo?")[1].get_function_responses()[0].response == {
        "result": "rain in Oslo, says key-from-the-environment"
    }


def test_a_callback_comes_with_its_arguments(project: Path, gemini_server: GeminiServer) -> None:
    callbacks = (EXAMPLES / "s08_callbacks.yaml").read_text(encoding="utf-8")
    (project / "coordinator.yaml").write_text(f"name: limited\nmodel: gemini-2.5-flash\n{callbacks}")
    gemini_server.reply("hello")
    agent = play("s08_load_agent.py")["agent"]
    assert say(agent, "hi")[0].content is not None
    assert agent.before_model_callback.__globals__["seen"] == [60]


def test_an_app_comes_from_a_file(project: Path) -> None:
    (project / "app_config.yaml").write_text("name: my_app\nroot_agent: search_agent.yaml\n")
    app = play("s08_load_app.py")["app"]
    assert (app.name, app.root_agent.name) == ("my_app", "searcher")


# --- 9: BaseAuthProvider and AuthProviderRegistry --------------------------------------------------------


class SecretManager:
    """What the example's provider asks: holds one secret, or none."""

    held: str | None = None

    async def access_secret_version(self, *, name: str) -> Any:
        assert name == "projects/my-gcp-project/secrets/weather-api-key/versions/latest"
        if self.held is None:
            raise LookupError(name)
        return SimpleNamespace(payload=SimpleNamespace(data=f"{self.held}\n".encode()))


@pytest.mark.parametrize("held", ["s3cr3t-value", None])
def test_a_provider_s_credential_reaches_the_tool(held: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    from newel.auth import AuthConfig
    from newel.auth.auth_schemes import ApiKeyScheme
    from newel.tools.authenticated_function_tool import AuthenticatedFunctionTool

    secretmanager = ModuleType("google.cloud.secretmanager")
    secretmanager.SecretManagerServiceAsyncClient = SecretManager  # type: ignore[attr-defined]
    cloud = ModuleType("google.cloud")
    cloud.secretmanager = secretmanager  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "google.cloud", cloud)
    monkeypatch.setitem(sys.modules, "google.cloud.secretmanager", secretmanager)
    monkeypatch.setattr(SecretManager, "held", held)

    got: list[str | None] = []

    def weather(city: str, credential: Any) -> str:
        """The weather in a city."""
        got.append(credential.api_key if isinstance(credential.api_key, str) else credential.api_key.api_key)
        return f"rain in {city}"

    scheme = ApiKeyScheme(**{"in": "header", "name": "X-Key"})
    tool = AuthenticatedFunctionTool(func=weather, auth_config=AuthConfig(auth_scheme=scheme))
    model = ScriptedModel([types.FunctionCall(name="weather", args={"city": "Oslo"}), "It rains."])
    agent = Agent(name="a", model=model, tools=[tool])
    app: App = play("s09_secret_manager.py", agent=agent)["app"]

    async def whole() -> list[Event]:
        runner = Runner(app=app, session_service=InMemorySessionService(), auto_create_session=True)
        return [event async for event in runner.run_async(user_id="u1", session_id="1", new_message="Oslo?")]

    events = asyncio.run(whole())
    asked = [call.name for event in events for call in event.get_function_calls()]
    if held is None:  # the provider has none: in the end the user is asked
        assert got == []
        assert "adk_request_credential" in asked
    else:
        assert got == [held]
        assert asked == ["weather"]
    assert all("s3cr3t-value" not in event.model_dump_json() for event in events)


# --- 10: task delegation ---------------------------------------------------------------------------------


def test_the_coordinator_delegates_research(gemini_server: GeminiServer) -> None:
    names = play("s10_task_agent.py")
    found = {"summary": "Sea is wet.", "sources": ["a", "b"], "confidence": 0.92}
    gemini_server.reply(call("researcher", {"request": "the sea"}))
    gemini_server.reply(call("web_search", {"query": "sea"}))
    gemini_server.reply(call("finish_task", {"summary": 42, "sources": "not a list", "confidence": "high"}))
    gemini_server.reply(call("finish_task", found))
    gemini_server.reply("The sea is wet.")
    events = say(names["coordinator"], "Tell me about the sea.")
    results = [response.response for event in events for response in event.get_function_responses()]
    assert results[0] == {"result": "Results for: sea"}
    error = results[1]["error"]
    assert error.startswith(
        "Invoking `finish_task()` failed due to validation errors:\n3 validation errors for ResearchOutput\n"
    )
    assert error.endswith(
        "You could retry calling this tool, but it is IMPORTANT for you to "
        "provide all the mandatory parameters with correct types."
    )
    assert found in [event.output for event in events]
    assert found in results
    assert events[-1].content is not None
    assert [part.text for part in events[-1].content.parts or ()] == ["The sea is wet."]
