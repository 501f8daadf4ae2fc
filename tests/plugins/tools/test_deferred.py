"""Tools that the model searches for."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from newel import Agent, Runner
from newel.files import load_agent
from newel.sessions import InMemorySessionService
from newel.sessions.kinds import SessionBackend
from newel.testing import ScriptedModel
from newel.tools import Deferred, google_search
from newel.tools.tool_index import ToolIndex
from newel_compose import compose
from newel_kernel import BaseSessionService, BaseTool, BaseToolset, ConfigurationError, Context
from newel_types import Content, FunctionDeclaration, Part

_HERE = Path(__file__).parent / "deferred"
#: Bytes of declarations in a request of an agent with 200 tools, five of them found.
_MOST_BYTES = 6_000


class Declared(BaseTool):
    """A tool as a server describes it."""

    def __init__(self, name: str, description: str, parameters: dict[str, str] | None = None) -> None:
        super().__init__(name=name, description=description)
        self._parameters = parameters or {}

    def _get_declaration(self) -> FunctionDeclaration:
        properties = {name: {"type": "string", "description": text} for name, text in self._parameters.items()}
        return FunctionDeclaration(
            name=self.name,
            description=self.description,
            parameters_json_schema={"type": "object", "properties": properties},
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: Context) -> object:
        return f"{self.name} ran"


class Server(BaseToolset):
    """A toolset that counts how often it was closed."""

    def __init__(self, tools: list[BaseTool]) -> None:
        super().__init__()
        self._tools = tools
        self.closed = 0

    async def get_tools(self, readonly_context: Any = None) -> list[BaseTool]:
        return self._tools

    async def close(self) -> None:
        self.closed += 1


_THINGS = [
    *("repository", "issue", "message", "mail", "event", "page", "file", "contact", "payment", "invoice", "order"),
    *("stock", "parcel", "employee", "payslip", "booking", "forecast", "route", "report", "table", "server", "alert"),
    *("build", "flag", "user"),
]
_VERBS = ("create", "get", "list", "update", "delete", "archive", "share", "export")


def _made() -> list[BaseTool]:
    """200 tools: what is done to what."""
    return [
        Declared(
            f"{verb}_{thing}",
            f"{verb.title()}s the {thing} that is named, and tells what became of it.",
            {"name": f"The name of the {thing}.", "reason": "Why it is done."},
        )
        for thing in _THINGS
        for verb in _VERBS
    ]


@pytest.fixture(scope="module")
def tools() -> list[BaseTool]:
    return _made()


def test_the_right_tool_is_among_the_first_five(tools: list[BaseTool]) -> None:
    """Whatever the form of its words."""
    index = ToolIndex(tools)
    for thing in _THINGS:
        assert f"delete_{thing}" in index.find(f"deleting {thing}s", 5)
        assert f"export_{thing}" in index.find(f"I would like an export of my {thing}, please", 5)


def _search(query: str, name: str = "search_tools") -> Part:
    return Part.from_function_call(name=name, args={"query": query})


def _call(name: str) -> Part:
    return Part.from_function_call(name=name, args={})


def _declared(request: Any) -> list[str]:
    return [one.name for tool in request.config.tools or () for one in tool.function_declarations or ()]


def _conversation(agent: Agent, *texts: str, service: BaseSessionService | None = None) -> list[Any]:
    """The events of one session in which the user says `texts`."""

    async def run() -> list[Any]:
        sessions = service or InMemorySessionService()
        runner = Runner(agent=agent, app_name="app", session_service=sessions, auto_create_session=True)
        events: list[Any] = []
        for text in texts:
            message = Content(role="user", parts=[Part(text=text)])
            async for event in runner.run_async(user_id="u", session_id="s", new_message=message):
                events.append(event)
        await runner.close()
        return events

    return asyncio.run(run())


def test_questions_as_models_write_them_find_their_tool() -> None:
    """Tools of 25 services, and questions in words of people who know them; 95 in 100 are among the first five."""
    read = [yaml.safe_load((_HERE / name).read_text(encoding="utf-8")) for name in ("tools.yaml", "questions.yaml")]
    index = ToolIndex([Declared(**one) for one in read[0]])
    assert [len(one) for one in read] == [200, 300]
    missed = [one["question"] for one in read[1] if one["tool"] not in index.find(one["question"], 5)]
    assert len(missed) <= 15, missed


def test_a_request_has_the_search_and_what_was_found(tools: list[BaseTool]) -> None:
    name = ToolIndex(tools).find("get the forecast", 1)[0]
    model = ScriptedModel([_search("get the forecast"), _call(name), "sunny", "still sunny"])
    events = _conversation(Agent(name="clerk", model=model, tools=[Deferred(Server(tools))]), "one", "two")
    declared = [_declared(request) for request in model.requests]
    assert declared[0] == ["search_tools"]
    assert [len(names) for names in declared] == [1, 6, 6, 6]
    assert declared[1] == declared[3]
    responses = [one for event in events for one in event.get_function_responses()]
    assert responses[0].response["tools"][0]["name"] == name
    assert responses[1].response == {"result": f"{name} ran"}
    for request in model.requests:
        size = sum(len(tool.model_dump_json(exclude_none=True)) for tool in request.config.tools)
        assert size <= _MOST_BYTES


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.sampled_from(["payments", "repository", "events", "stock of the warehouse"]), min_size=1, max_size=4)
)
def test_what_was_found_first_stays_first(queries: list[str]) -> None:
    """So the prefix of a request stays as it was, which providers cache."""
    tools = _made()
    model = ScriptedModel([*map(_search, queries), "done"])
    _conversation(Agent(name="clerk", model=model, tools=[Deferred(*tools)]), "go")
    declared = [_declared(request) for request in model.requests]
    for before, after in pairwise(declared):
        assert after[: len(before)] == before


def test_searches_at_once_lose_nothing(tools: list[BaseTool]) -> None:
    both = Content(role="model", parts=[_search("archive a payment"), _search("create repository")])
    model = ScriptedModel([both, "done"])
    _conversation(Agent(name="clerk", model=model, tools=[Deferred(*tools)]), "go")
    index = ToolIndex(tools)
    found = {*index.find("archive a payment", 5), *index.find("create repository", 5)}
    assert set(_declared(model.requests[1])) == {"search_tools", *found}


def test_it_stays_found_over_a_restart_and_a_transfer(tools: list[BaseTool], tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path / 'sessions.db'}"

    def store() -> BaseSessionService:
        return compose().registry.find(SessionBackend, "sqlite").open(uri)

    model = ScriptedModel([_search("archive a payment"), "done"])
    _conversation(Agent(name="clerk", model=model, tools=[Deferred(*tools)]), "one", service=store())
    helper_model = ScriptedModel(["here"])
    helper = Agent(name="helper", model=helper_model, tools=[Deferred(*tools)])
    transfer = Part.from_function_call(name="transfer_to_agent", args={"agent_name": "helper"})
    model = ScriptedModel([transfer])
    agent = Agent(name="clerk", model=model, tools=[Deferred(*tools)], sub_agents=[helper])
    _conversation(agent, "two", service=store())
    found = ToolIndex(tools).find("archive a payment", 5)
    assert [name for name in _declared(model.requests[0]) if name != "transfer_to_agent"] == ["search_tools", *found]
    names = [name for name in _declared(helper_model.requests[0]) if name != "transfer_to_agent"]
    assert names == ["search_tools", *found]


def test_two_searches_have_names(tools: list[BaseTool]) -> None:
    first, second = Deferred(*tools[:100], name="search_one"), Deferred(*tools[100:], name="search_two", most=1)
    wanted = tools[150]
    model = ScriptedModel([_search(f"{wanted.name} {wanted.description}", "search_two"), "done"])
    _conversation(Agent(name="clerk", model=model, tools=[first, second]), "go")
    assert _declared(model.requests[1]) == ["search_one", "search_two", wanted.name]


def test_what_finds_nothing_says_so(tools: list[BaseTool]) -> None:
    model = ScriptedModel([_search("zzzqqq"), _search("  "), _search("!?"), "done"])
    events = _conversation(Agent(name="clerk", model=model, tools=[Deferred(*tools)]), "go")
    none, blank, signs = [one.response for event in events for one in event.get_function_responses()]
    assert none == signs == {"tools": [], "hint": "No tool has these words: try others."}
    assert "`query` must say" in blank["error"]
    assert _declared(model.requests[-1]) == ["search_tools"]


@given(st.text())
@settings(max_examples=200, deadline=None)
def test_any_text_is_a_query(text: str) -> None:
    index = ToolIndex([Declared("pay_bill", "Pay a bill."), Declared("notes", 'With "quotes" and * signs')])
    assert set(index.find(text, 5)) <= {"pay_bill", "notes"}


def test_functions_and_tools_of_the_provider_go_along() -> None:
    def add(first: int, second: int) -> int:
        """Add two numbers."""
        return first + second

    model = ScriptedModel([_search("add numbers"), "done"])
    _conversation(Agent(name="clerk", model=model, tools=[Deferred(add, google_search)]), "go")
    assert [_declared(one) for one in model.requests] == [["search_tools"], ["search_tools", "add"]]
    assert any(tool.google_search is not None for tool in model.requests[0].config.tools)


def test_closing_closes_the_toolsets(tools: list[BaseTool]) -> None:
    server = Server(tools)
    _conversation(Agent(name="clerk", model=ScriptedModel([_search("pay"), "done"]), tools=[Deferred(server)]), "go")
    assert server.closed == 1


def test_all_are_listed_where_nobody_searches(tools: list[BaseTool]) -> None:
    agent = Agent(name="clerk", model="demo:", tools=[Deferred(*tools)])
    assert len(asyncio.run(agent.canonical_tools())) == 200


def test_wrong_arguments() -> None:
    with pytest.raises(ConfigurationError, match="needs the tools to be searched"):
        Deferred()
    with pytest.raises(ConfigurationError, match="at least 1 tool"):
        Deferred(google_search, most=0)


@pytest.mark.parametrize(
    "text", ["tools:\n  search: [load_memory, exit_loop]\n", "tools:\n- search: [load_memory, exit_loop]\n  most: 1\n"]
)
def test_in_a_file(tmp_path: Path, text: str) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text(f"name: clerk\nmodel: 'demo:'\n{text}", encoding="utf-8")
    agent = load_agent(file)
    (deferred,) = agent.tools  # type: ignore[attr-defined]
    assert isinstance(deferred, Deferred)
    assert sorted(tool.name for tool in asyncio.run(deferred.get_tools())) == ["exit_loop", "load_memory"]


def test_a_wrong_option_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text("name: clerk\nmodel: 'demo:'\ntools:\n- search: [load_memory]\n  moist: 1\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="moist"):
        load_agent(file)
