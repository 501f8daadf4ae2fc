"""``{tool: ..., require_confirmation: true}``: what a file says about a tool beside the tool itself."""

from __future__ import annotations

from typing import Any

import pytest

from newel import Agent
from newel.testing import Conversation, ScriptedModel
from newel.tools import FunctionTool, google_search
from newel.tools.refinement import Refinement, refined
from newel_kernel import ConfigurationError, Effect
from newel_types import FunctionCall, Part

TOOLS = """
    from newel import tool
    from newel.tools import BaseTool, BaseToolset
    from newel.types import FunctionDeclaration

    def pay(amount: int) -> str:
        '''Pay.'''
        return f"paid {amount}"

    def large(amount: int) -> bool:
        return amount > 100

    @tool(timeout=9)
    def ship(to: str) -> str:
        '''Ship.'''
        return to

    class Bell(BaseTool):
        def __init__(self):
            super().__init__(name="bell", description="Rings.")

        def _get_declaration(self):
            return FunctionDeclaration(name="bell", description="Rings.")

        async def run_async(self, *, args, tool_context):
            return "ring"

    class Shop(BaseToolset):
        async def get_tools(self, readonly_context=None):
            return [Bell()]

    level = 3

    def level_of(level: int, of: str) -> int:
        return level
"""


def load(folder: Any, entry: str) -> Any:
    folder.write("tools.py", TOOLS)
    (tool,) = folder.load(f"name: a\ntools:\n  - {entry}\n").tools
    return tool


def test_everything_that_can_be_said(folder: Any) -> None:
    tool = load(folder, "{tool: tools.pay, name: pay_bill, timeout: 2.5, effect: at_most_once}")
    assert isinstance(tool, FunctionTool)
    assert (tool.name, tool.timeout, tool.effect) == ("pay_bill", 2.5, Effect.AT_MOST_ONCE)  # type: ignore[attr-defined]
    declaration = tool._get_declaration()
    assert (declaration.name, declaration.description) == ("pay_bill", "Pay.")


def test_what_is_not_said_stays(folder: Any) -> None:
    tool = load(folder, "{tool: tools.ship, effect: pure}")
    assert (tool.name, tool.timeout, tool.effect) == ("ship", 9, Effect.PURE)


def test_arguments_and_installed_tools(folder: Any) -> None:
    assert load(folder, "{tool: {name: tools.level_of, args: {level: 3}}, name: pay3}").name == "pay3"
    assert load(folder, "{tool: clock, name: watch}").name == "watch"
    assert load(folder, "{tool: {name: clock, args: {zone: CET}}, timeout: 1}").zone == "CET"


def asked(tool: Any, name: str, args: dict[str, Any]) -> list[str]:
    """The names of the calls in the session when the model calls a tool once."""
    model = ScriptedModel([Part(function_call=FunctionCall(name=name, args=args)), "done"])
    talk = Conversation(Agent(name="a", model=model, tools=[tool]))
    return [str(call.name) for call in talk.say("go").calls]


@pytest.mark.parametrize(
    ("entry", "name", "args", "confirmed"),
    [
        ("{tool: tools.pay, require_confirmation: true}", "pay", {"amount": 1}, True),
        ("{tool: tools.pay, require_confirmation: false}", "pay", {"amount": 1}, False),
        ("{tool: tools.pay, require_confirmation: tools.large}", "pay", {"amount": 1}, False),
        ("{tool: tools.pay, require_confirmation: tools.large}", "pay", {"amount": 500}, True),
        ("{tool: tools.Bell, require_confirmation: true}", "bell", {}, True),
        ("{tool: tools.Bell, require_confirmation: true, name: gong}", "gong", {}, True),
        ("{tool: tools.Shop, require_confirmation: true}", "bell", {}, True),
        ("{tool: tools.Shop, timeout: 3}", "bell", {}, False),
    ],
)
def test_confirmation_of_any_tool(folder: Any, entry: str, name: str, args: dict[str, Any], confirmed: bool) -> None:
    assert ("adk_request_confirmation" in asked(load(folder, entry), name, args)) is confirmed


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{tool: tools.pay, require_confirmatoin: true}", "unknown key 'require_confirmatoin' in tools.0; did"),
        ("{tool: tools.pay, effect: once}", "tools.0.effect: there is no effect 'once'"),
        ("{tool: tools.pay, timeout: -1}", "tools.0.timeout: a timeout is a number of seconds"),
        ("{tool: tools.pay, timeout: soon}", "tools.0.timeout: Input should be a valid number"),
        ("{tool: tools.pay, name: pay bill}", "tools.0.name: a tool's name has letters"),
        (
            "{tool: tools.pay, require_confirmation: 3}",
            "expected true, false or a function as module",
        ),
        ("{tool: tools.pay, require_confirmation: tools.lage}", "'tools.lage' does not exist; did you mean 'large'?"),
        ("{tool: tools.pay, require_confirmation: tools.level}", "'tools.level' is int, not a function"),
        ("{tool: tools.pai, timeout: 3}", "'tools.pai' does not exist; did you mean 'pay'?"),
        ("{tool: tools.Shop, name: shop}", "is a toolset, whose tools have names of their own; remove `name`"),
        ("{tool: tools.level, timeout: 3}", "int is not a tool"),
    ],
)
def test_what_is_wrong_names_the_line(folder: Any, entry: str, message: str) -> None:
    folder.write("tools.py", TOOLS)
    said = folder.refused(f"name: a\ntools:\n  - {entry}\n")
    assert said.startswith("root_agent.yaml:3: ")
    assert message in said


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"require_confirmation": True}, "where the user cannot be asked; remove `require_confirmation`"),
        ({"timeout": 3}, "which sets its own time limit; remove `timeout`"),
        ({"effect": "pure"}, "which never repeats a call; remove `effect`"),
    ],
)
def test_what_nobody_would_read_of_a_tool_at_the_provider_is_refused(said: Any, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        refined(google_search, Refinement(**said))
    assert str(caught.value) == f"google_search runs at the model's provider, {message}"
