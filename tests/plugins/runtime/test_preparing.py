"""Preparation: which tools a request declares, in which order, and which steps serve an app."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from newel.agents import LlmAgent
from newel.testing import ScriptedModel
from newel_compose import compose
from newel_kernel import (
    BaseTool,
    BaseToolset,
    ConfigurationError,
    DuplicateToolError,
    Event,
    HookSignatureError,
    Log,
    RequestProcessor,
    hookimpl,
)
from newel_types import Content, FunctionCall, FunctionDeclaration, FunctionResponse, Part


class Plain(BaseTool):
    """Only declares itself."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name, description="")

    def _get_declaration(self) -> FunctionDeclaration:
        return FunctionDeclaration(name=self.name)


class Looking(Plain):
    """Notes what the request declares when its turn comes, and then declares itself."""

    def __init__(self, name: str, log: list[Any]) -> None:
        super().__init__(name)
        self.log = log

    async def process_llm_request(self, *, tool_context: Any, llm_request: Any) -> None:
        self.log.append((self.name, tool_context.user_id, list(llm_request.tools_dict)))
        await super().process_llm_request(tool_context=tool_context, llm_request=llm_request)


class Drawer(BaseToolset):
    """A toolset of these tools, which notes when it prepares a request."""

    def __init__(self, log: list[Any], *tools: BaseTool, **fields: Any) -> None:
        super().__init__(**fields)
        self.log, self.tools = log, tools

    async def get_tools(self, readonly_context: Any = None) -> Any:
        return [tool for tool in self.tools if self._is_tool_selected(tool, readonly_context)]

    async def process_llm_request(self, *, tool_context: Any, llm_request: Any) -> None:
        self.log.append(("drawer", tool_context.user_id, list(llm_request.tools_dict)))


def say(talk: Any, *tools: Any) -> list[str]:
    """The names of the tools that the model is told of."""
    model = ScriptedModel(["tea"])
    talk(LlmAgent(name="waiter", model=model, tools=list(tools))).say("go")
    (request,) = model.requests
    declared = [one.name for tool in request.config.tools or () for one in tool.function_declarations or ()]
    assert list(request.tools_dict) == declared
    return declared


def test_tools_are_declared_in_their_order_whoever_declares_them(talk: Any) -> None:
    log: list[Any] = []

    def a() -> None:
        """The first."""

    tools = [
        a,
        Plain("b"),
        Drawer(log, Plain("c"), Looking("d", log), Plain("e")),
        Looking("f", log),
        Looking("g", log),
        Plain("h"),
    ]
    assert say(talk, *tools) == ["a", "b", "c", "d", "e", "f", "g", "h"]
    assert log == [
        ("drawer", "ada", []),
        ("d", "ada", ["a", "b", "c"]),
        ("f", "ada", ["a", "b", "c", "d", "e"]),
        ("g", "ada", ["a", "b", "c", "d", "e", "f"]),
    ]


def test_a_toolset_gives_what_its_filter_lets_through_under_its_prefix(talk: Any) -> None:
    tools = [Plain("a"), Plain("b"), Plain("c")]
    named = Drawer([], *tools, tool_filter=["a", "c"], tool_name_prefix="x")
    assert say(talk, named, tools[0]) == ["x_a", "x_c", "a"]
    assert say(talk, Drawer([], *tools, tool_filter=lambda tool, ctx: (tool.name, ctx.user_id) == ("b", "ada"))) == [
        "b"
    ]
    assert say(talk, Drawer([], *tools, tool_filter=[])) == ["a", "b", "c"]


def test_a_tool_that_declares_nothing_declares_nothing_under_a_prefix_either(talk: Any) -> None:
    assert say(talk, Drawer([], BaseTool(name="hidden"), Plain("a"), tool_name_prefix="x")) == ["x_a"]


def test_two_tools_of_one_name_are_refused_with_both_origins(talk: Any) -> None:
    own, inner = Plain("a"), Plain("a")
    with pytest.raises(DuplicateToolError) as raised:
        say(talk, own, Drawer([], Plain("b"), inner))
    here = f"{__name__}.Plain"
    assert str(raised.value) == (
        f"agent 'waiter' has two tools named 'a', one is {own.__newel_origin__}, the other one "
        f"{inner.__newel_origin__} of the toolset "
        f"{__name__}.Drawer; rename one of them, or set the tool_name_prefix of a toolset"
    )
    assert own.__newel_origin__ == here
    assert raised.value.tools == (own, inner)
    with pytest.raises(ConfigurationError, match=r"Drawer with the prefix 'x', the other one .*Drawer with the prefix"):
        say(talk, *(Drawer([], Plain("a"), tool_name_prefix="x") for _ in range(2)))


@pytest.mark.parametrize("wrong", [None, "a", [print], {"a": 1}])
def test_a_toolset_that_gives_no_tools_is_named(talk: Any, wrong: Any) -> None:
    class Wrong(BaseToolset):
        async def get_tools(self, readonly_context: Any = None) -> Any:
            return wrong

    with pytest.raises(HookSignatureError, match=r"Wrong: get_tools must return a list of tools, not"):
        say(talk, Wrong())


def test_a_step_that_serves_no_such_app_is_left_out_for_it() -> None:
    async def nothing(ctx: Any, request: Any) -> None:
        """Does nothing."""

    def serves(app: object) -> bool:
        return getattr(app, "name", None) == "tea"

    class Steps:
        name = "steps"

        @hookimpl
        def register_request_processors(self) -> list[RequestProcessor]:
            return [
                RequestProcessor(name="always", run=nothing, after=("contents",)),
                RequestProcessor(name="for_tea", run=nothing, after=("contents",), serves=serves),
            ]

    composition = compose("minimal", plugins=[Steps()])

    def steps(app: object) -> list[str]:
        return [step.name for step in composition.for_app(app).request_steps if step.name in ("always", "for_tea")]

    tea, coffee = SimpleNamespace(name="tea"), SimpleNamespace(name="coffee")
    assert [steps(app) for app in (tea, coffee, None)] == [["always", "for_tea"], ["always"], ["always"]]
    assert composition.for_app(tea) is composition
    assert composition.for_app(coffee) is composition.for_app(None)


def test_of_the_open_calls_only_those_among_the_named_events_are_seen() -> None:
    def calls(id_: str, **fields: Any) -> Event:
        part = Part(function_call=FunctionCall(id=id_, name="t", args={}))
        return Event("e-1", "root", content=Content(role="model", parts=[part]), **fields)

    def results(id_: str) -> Event:
        part = Part(function_response=FunctionResponse(id=id_, name="t", response={}))
        return Event("e-1", "root", content=Content(role="user", parts=[part]))

    events = [calls("a"), calls("b"), results("a"), results("b")]
    ids = [event.id for event in events]
    log = Log(events)

    def seen(*own: int) -> tuple[int, list[str | None]] | None:
        found = log.calls("root", None, own=[ids[i] for i in own])
        return None if found is None else (found.position, [call.id for call in found.open])

    assert seen(0, 1, 2, 3) == (1, [])
    assert seen(0, 1) == (1, ["b"])
    assert seen(0, 2, 3) == (0, [])
    assert seen(0, 3) == (0, ["a"])
    assert seen(2, 3) is None
    assert seen() is None
