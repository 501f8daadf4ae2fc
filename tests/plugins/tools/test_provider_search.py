"""Tools that the model's service searches itself, over its own protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from newel import Agent, Runner
from newel.files import load_agent
from newel.models import BaseLlm
from newel.models.anthropic.cache_marks import mark
from newel.models.anthropic_llm import AnthropicLlm
from newel.models.deferral import DEFERRAL, Deferral
from newel.models.google.context_cache_config import ContextCacheConfig
from newel.models.google.request_keys import CACHE_CONFIG
from newel.models.openai import OpenAILlm, OpenAIResponsesLlm
from newel.sessions import InMemorySessionService
from newel.tools import Deferred
from newel_kernel import (
    BaseSessionService,
    BaseTool,
    BaseToolset,
    ConfigurationError,
    Context,
    Event,
    Json,
    LlmRequest,
    RunConfig,
    StreamingMode,
)
from newel_testkit.wire import Answer, WireServer
from newel_testkit.wire.answers import call, text, thought
from newel_testkit.wire.searches import claude_search, responses_search
from newel_types import Content, FunctionDeclaration, GenerateContentConfig, Part, Tool

_SEARCH_TOOLS = ("tool_search_tool_bm25", "tool_search")


def issue_invoice(customer: str) -> str:
    """Bill a customer."""
    return f"{customer} billed"


def cancel_invoice(customer: str) -> str:
    """Take a bill back."""
    return f"{customer} not billed"


def read_clock() -> str:
    """Read the clock."""
    return "noon"


class Changing(BaseToolset):
    """A toolset whose tools are those of its list."""

    def __init__(self, *names: str) -> None:
        super().__init__()
        self.names = list(names)

    async def get_tools(self, readonly_context: Any = None) -> list[BaseTool]:
        return [_Named(name) for name in self.names]


class _Named(BaseTool):
    def __init__(self, name: str) -> None:
        super().__init__(name=name, description=f"Does {name}.")

    def _get_declaration(self) -> FunctionDeclaration:
        return FunctionDeclaration(name=self.name, parameters_json_schema={"type": "object", "properties": {}})

    async def run_async(self, *, args: Json, tool_context: Context) -> object:
        return f"{self.name} ran"


@dataclass(frozen=True)
class Service:
    """A service that searches, and how its answers hold a search."""

    server: WireServer
    kind: type[AnthropicLlm] | type[OpenAIResponsesLlm]
    name: str

    def model(self, **more: Any) -> BaseLlm:
        return self.kind(model=self.name, **more)

    def search(self, *found: str, number: int = 1) -> tuple[Json, Json]:
        if self.kind is AnthropicLlm:
            return claude_search(*found, call_id=f"srvtoolu_{number}")
        return responses_search(*found, number=number)

    def say(
        self, agent: Agent, *texts: str, sse: bool = False, sessions: BaseSessionService | None = None
    ) -> list[Event]:
        """The events of one session in which the user says `texts`."""

        async def run() -> list[Event]:
            store = sessions or InMemorySessionService()
            runner = Runner(agent=agent, app_name="app", session_service=store, auto_create_session=True)
            config = RunConfig(streaming_mode=StreamingMode.SSE if sse else StreamingMode.NONE)
            events: list[Event] = []
            for words in texts:
                run = runner.run_async(user_id="u", session_id="s", new_message=words, run_config=config)
                events += [event async for event in run]
            await runner.close()
            return events

        return asyncio.run(run())

    def tools(self, body: Json) -> dict[str, bool]:
        """The tools of a request and whether they are deferred; the search is ``search``."""
        named = ((tool.get("name") or tool["type"], bool(tool.get("defer_loading"))) for tool in body["tools"])
        return {"search" if name in _SEARCH_TOOLS else name: deferred for name, deferred in named}

    def searches(self, body: Json) -> list[Json]:
        """The items and blocks of searches in a request."""
        items = body.get("input") or [block for one in body["messages"] for block in one["content"]]
        return [one for one in items if "search" in str(one.get("type")) or one.get("type") == "server_tool_use"]


@pytest.fixture(params=["anthropic", "openai"])
def service(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with WireServer() as server:
        for name in ("anthropic", "openai"):
            monkeypatch.setenv(f"{name.upper()}_API_KEY", "sk-test-SECRET-0123456789")
            monkeypatch.setenv(f"{name.upper()}_BASE_URL", server.base[name])
        if request.param == "anthropic":
            yield Service(server, AnthropicLlm, "claude-sonnet-4-5")
        else:
            yield Service(server, OpenAIResponsesLlm, "gpt-5.4")
        assert [one.refused for one in server.log] == [None] * len(server.log)


def _agent(service: Service, *tools: Any, **more: Any) -> Agent:
    return Agent(name="clerk", model=service.model(**more), tools=list(tools))


def _bills(service: Service, number: int = 1) -> Answer:
    found = service.search("issue_invoice", number=number)
    return Answer(parts=(*found, call("issue_invoice", {"customer": "Ann"})), stop="tool")


_DONE = Answer(parts=(text("Done."),))


@pytest.mark.parametrize("sse", [False, True], ids=["whole", "streamed"])
def test_the_service_searches_and_gets_its_search_back(service: Service, sse: bool) -> None:
    agent = _agent(service, read_clock, Deferred(issue_invoice, cancel_invoice, search="provider"))
    service.server.script(_bills(service), _DONE, _DONE)
    events = service.say(agent, "Bill Ann.", "Thanks.", sse=sse)
    final = [event for event in events if not event.partial]
    responses = [one.response for event in final for one in event.get_function_responses()]
    assert responses == [{"result": "Ann billed"}]
    wanted = {"read_clock": False, "search": False, "issue_invoice": True, "cancel_invoice": True}
    for body in service.server.bodies:
        assert service.tools(body) == wanted
    sent = [service.searches(body) for body in service.server.bodies]
    assert [len(one) for one in sent] == [0, 2, 2]
    assert sent[1] == sent[2]


def test_a_thought_before_a_search_goes_back_with_it(service: Service) -> None:
    agent = _agent(service, Deferred(issue_invoice, search="provider"))
    answer = _bills(service)
    service.server.script(answer.having(parts=(thought("Who bills?"), *answer.parts)), _DONE)
    service.say(agent, "Bill Ann.")
    assert len(service.searches(service.server.bodies[-1])) == 2


def test_a_search_that_found_nothing_goes_back(service: Service) -> None:
    agent = _agent(service, Deferred(issue_invoice, search="provider"))
    service.server.script(Answer(parts=(*service.search(), text("There is no such tool."))), _DONE)
    service.say(agent, "Fly.", "Never mind.")
    assert len(service.searches(service.server.bodies[-1])) == 2


def test_a_tool_that_is_gone_is_no_longer_referred_to(service: Service) -> None:
    """The service would refuse the conversation for good."""
    tools = Changing("sow", "reap")
    agent = _agent(service, Deferred(tools, search="provider"))
    service.server.script(Answer(parts=(*service.search("sow", "reap"), text("I can do both."))), _DONE)
    sessions = InMemorySessionService()
    service.say(agent, "What can you do?", sessions=sessions)
    tools.names.remove("reap")
    service.say(agent, "And now?", sessions=sessions)
    assert "reap" not in str(service.server.bodies[-1]["tools"])
    _, answer = service.searches(service.server.bodies[-1])
    found = answer["content"]["tool_references"] if "content" in answer else answer["tools"]
    assert [one.get("tool_name") or one.get("name") for one in found] == ["sow"]


@pytest.mark.parametrize("words", [(), (text("I looked."),)], ids=["nothing else", "words"])
def test_an_agent_without_the_search_continues_the_conversation(service: Service, words: tuple[Json, ...]) -> None:
    sessions = InMemorySessionService()
    service.server.script(Answer(parts=(*service.search("issue_invoice"), *words)), _DONE, _DONE)
    service.say(_agent(service, Deferred(issue_invoice, search="provider")), "What can you do?", sessions=sessions)
    for tools in ([issue_invoice], []):
        service.say(_agent(service, *tools), "And now?", sessions=sessions)
        assert service.searches(service.server.bodies[-1]) == []


def test_what_was_found_stays_found_where_the_search_is_not_in_the_request(service: Service) -> None:
    """It is declared like other tools, as the conversation no longer tells the service of it."""
    sessions = InMemorySessionService()
    deferred = Deferred(issue_invoice, cancel_invoice, search="provider")
    service.server.script(_bills(service), _DONE, _DONE, _DONE)
    service.say(_agent(service, deferred), "Bill Ann.", sessions=sessions)
    alone = Agent(name="clerk", model=service.model(), tools=[deferred], include_contents="none")
    service.say(alone, "And Ben.", sessions=sessions)
    assert service.tools(service.server.bodies[-1]) == {"issue_invoice": False, "search": False, "cancel_invoice": True}
    assert service.searches(service.server.bodies[-1]) == []


def test_a_tool_that_must_be_called_is_not_deferred(service: Service) -> None:
    declared = [FunctionDeclaration(name=name, description=name) for name in ("sow", "reap")]
    calling = {"mode": "ANY", "allowed_function_names": ["sow"]}
    config = GenerateContentConfig(
        tools=[Tool(function_declarations=declared)], tool_config={"function_calling_config": calling}
    )
    request = LlmRequest(contents=[Content(role="user", parts=[Part(text="Go.")])], config=config)
    request.stash[DEFERRAL] = Deferral(frozenset({"sow", "reap"}))
    service.server.script(_DONE)

    async def ask() -> None:
        async for _ in service.model().generate_content_async(request):
            pass

    asyncio.run(ask())
    assert service.tools(service.server.bodies[-1]) == {"sow": False, "search": False, "reap": True}


def test_names_that_the_service_does_not_take_are_found(service: Service) -> None:
    name = "books.sow seeds"
    agent = _agent(service, Deferred(Changing(name), search="provider"))
    service.server.script(_DONE)
    service.say(agent, "Go.")
    (spelt,) = (one for one in service.tools(service.server.bodies[-1]) if one != "search")
    service.server.script(Answer(parts=(*service.search(spelt), call(spelt, {})), stop="tool"), _DONE)
    events = service.say(agent, "Go.")
    assert [one.name for event in events for one in event.get_function_responses()] == [name]
    assert service.tools(service.server.bodies[-1])[spelt]


def test_stored_answers_continue_with_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-SECRET-0123456789")
    with WireServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base["openai"])
        service = Service(server, OpenAIResponsesLlm, "gpt-5.4")
        server.script(_bills(service), _DONE, _DONE)
        service.say(_agent(service, Deferred(issue_invoice, search="provider"), store=True), "Bill Ann.", "Thanks.")
        assert [one.refused for one in server.log] == [None] * 3
        assert all("previous_response_id" in body and not service.searches(body) for body in server.bodies[1:])


def test_a_call_keeps_its_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-SECRET-0123456789")
    item = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "issue_invoice", "arguments": "{}"}
    with WireServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base["openai"])
        service = Service(server, OpenAIResponsesLlm, "gpt-5.4")
        found = service.search("issue_invoice")
        server.script(Answer(parts=(*found, {"item": {**item, "namespace": "bills"}}), stop="tool"), _DONE)
        service.say(_agent(service, Deferred(issue_invoice, search="provider")), "Bill Ann.")
        calls = [one for one in server.bodies[-1]["input"] if one["type"] == "function_call"]
        assert [one["namespace"] for one in calls] == ["bills"]


def test_marks_of_the_cache_are_on_tools_that_the_prompt_has() -> None:
    tools = [{"name": "clock"}, {"name": "search"}, {"name": "sow", "defer_loading": True}]
    said = [{"type": "text", "text": "Hi"}]
    body: Json = {"model": "claude-opus-5", "tools": tools, "messages": [{"role": "user", "content": said}]}
    request = LlmRequest()
    request.stash[CACHE_CONFIG] = ContextCacheConfig(min_tokens=0)
    mark(body, request)
    assert ["cache_control" in tool for tool in body["tools"]] == [False, True, False]


@pytest.mark.parametrize(
    "model",
    [AnthropicLlm(model="claude-3-5-haiku-latest"), OpenAILlm(model="gpt-5.4"), OpenAIResponsesLlm(model="gpt-5")],
    ids=["older", "chat", "older of OpenAI"],
)
def test_a_model_without_a_search_is_refused(model: BaseLlm) -> None:
    agent = Agent(name="clerk", model=model, tools=[Deferred(issue_invoice, search="provider")])
    with pytest.raises(ConfigurationError, match="of agent 'clerk' does not search tools itself"):
        asyncio.run(Runner(agent=agent, app_name="app", auto_create_session=True).run_debug("Hi", quiet=True))


def test_a_model_that_stands_in_declares_all_tools(service: Service) -> None:
    """The request may reach a model that has no search, behind one that has."""
    request = LlmRequest(
        model="claude-3-5-haiku-latest" if service.kind is AnthropicLlm else "gpt-4o",
        contents=[Content(role="user", parts=[Part(text="Go.")])],
        config=GenerateContentConfig(tools=[Tool(function_declarations=[FunctionDeclaration(name="sow")])]),
    )
    request.stash[DEFERRAL] = Deferral(frozenset({"sow"}))
    service.server.script(_DONE)

    async def ask() -> None:
        async for _ in service.model().generate_content_async(request):
            pass

    asyncio.run(ask())
    assert service.tools(service.server.bodies[-1]) == {"sow": False}


def test_wrong_arguments() -> None:
    with pytest.raises(ConfigurationError, match="expected one of newel, provider"):
        Deferred(issue_invoice, search="google")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="neither most nor name"):
        Deferred(issue_invoice, search="provider", most=3)


def test_a_file_says_who_searches(tmp_path: Any) -> None:
    path = tmp_path / "agent.yaml"
    path.write_text("name: clerk\nmodel: 'demo:'\ntools:\n  search: [load_memory]\n  by: provider\n")
    agent: Any = load_agent(path)
    assert agent.tools[0]._by_provider
    path.write_text("name: clerk\nmodel: 'demo:'\ntools:\n  search: [load_memory]\n  by: google\n")
    with pytest.raises(ConfigurationError, match="by"):
        load_agent(path)
