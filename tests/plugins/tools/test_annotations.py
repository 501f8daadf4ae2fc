"""Types that only the function around a tool knows: found where it still runs, else named in the log; never silent."""

from __future__ import annotations

import asyncio
import functools
import itertools
import logging
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from newel import Agent, tool
from newel.agents import Context
from newel.testing import Conversation, ScriptedModel
from newel.tools import FunctionTool
from newel.workflow import START, FunctionNode, Workflow
from newel_kernel import ConfigurationError

if TYPE_CHECKING:
    from made_up import Unknown

ANNOTATIONS = ("Item", "list[Item]", "Item | None", "dict[str, Item]", '"Item"', 'list["Item"]', "Annotated[Item, 1]")
WAYS = ("agent", "tool", "decorator", "partial", "wrapped", "method", "nested")
FACTORY = """
from __future__ import annotations
import functools
from typing import Annotated
from pydantic import BaseModel
from newel import Agent, tool
from newel.tools import FunctionTool

def build(got, model):
    class Item(BaseModel):
        n: int
    {definition}
    {tools}
    return Agent(name="a", model=model, tools=[work])
"""
WORK = '''def work({first}item: {hint}, count: int = 1) -> str:
    """Work."""
    got.append(item)
    return "done"
'''


def source(way: str, hint: str) -> str:
    body = WORK.format(first="self, " if way == "method" else "", hint=hint)
    tools = ""
    if way == "tool":
        tools = "work = FunctionTool(work)"
    elif way == "decorator":
        body = "@tool\n" + body
    elif way == "partial":
        tools = "work = functools.partial(work, count=2)"
    elif way == "wrapped":
        body += "\ninner = work\n@functools.wraps(inner)\ndef work(*args, **kwargs):\n    return inner(*args, **kwargs)"
    elif way == "method":
        body, tools = "class Held:\n" + indented(body), "work = Held().work"
    elif way == "nested":
        body = "def outer():\n" + indented(body) + "\n    return FunctionTool(work)\nwork = outer()"
    return FACTORY.format(definition=indented(body).lstrip(), tools=tools)


def indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else line for line in text.split("\n"))


@pytest.mark.parametrize(("way", "hint"), list(itertools.product(WAYS, ANNOTATIONS)))
def test_a_type_of_the_factory_that_makes_the_tool_is_found(
    caplog: pytest.LogCaptureFixture, way: str, hint: str
) -> None:
    names: dict[str, Any] = {"__name__": "made_here"}
    exec(source(way, hint), names)
    got: list[Any] = []
    sent: Any = [{"n": 1}] if "list" in hint else {"k": {"n": 1}} if "dict" in hint else {"n": 1}
    model = ScriptedModel([{"call": "work", "args": {"item": sent}}, "end"])
    asyncio.run(Conversation(names["build"](got, model), distribution="standard").send("go"))
    (item,) = got[0] if "list" in hint else got[0].values() if "dict" in hint else got
    assert type(item).__name__ == "Item"
    assert "is not known" not in caplog.text


def test_a_type_that_is_lost_is_named_with_its_parameter_and_function(caplog: pytest.LogCaptureFixture) -> None:
    def make() -> Any:
        class Item(BaseModel):
            n: int

        def store(item: Item, other: Unknown, count: int = 1) -> str:
            """Store."""
            return "stored"

        return store

    declaration = FunctionTool(make())._get_declaration()
    assert declaration.parameters_json_schema["properties"]["count"]["type"] == "integer"
    (first, second) = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
    assert all(word in first for word in ("make.<locals>.store", "'item'", "'Item'"))
    assert all(word in second for word in ("make.<locals>.store", "'other'", "'Unknown'"))


def test_a_node_of_a_factory_takes_the_context_and_its_types() -> None:
    got: list[Any] = []

    def build() -> Workflow:
        class Item(BaseModel):
            n: int

        def step(here: Context, node_input: Item, unknown: Unknown = None) -> str:
            got.append((here, node_input))
            return "done"

        def first() -> dict[str, int]:
            return {"n": 1}

        one, two = FunctionNode(first), FunctionNode(step)
        return Workflow(name="w", edges=[(START, one, two)])

    asyncio.run(Conversation(build(), distribution="standard").send("go"))
    ((context, item),) = got
    assert isinstance(context, Context)
    assert (type(item).__name__, item.n) == ("Item", 1)


@pytest.mark.parametrize("name", ["ctx", "tool_context"])
@pytest.mark.parametrize("annotated", ["", ": Context", ": Any", ": Unknown"])
def test_a_known_name_without_another_type_is_the_context(name: str, annotated: str) -> None:
    names: dict[str, Any] = {"Context": Context, "Any": Any}
    exec(f"from __future__ import annotations\ndef work({name}{annotated}, city: str): 'Work.'", names)
    made = FunctionTool(names["work"])
    assert made.__newel_shape__.context_name == name
    assert list(made._get_declaration().parameters_json_schema["properties"]) == ["city"]


def test_the_type_goes_before_the_name() -> None:
    def work(ctx: str, where: Context) -> None:
        """Work."""

    def other(ctx: str, context: str) -> None:
        """Work."""

    assert FunctionTool(work).__newel_shape__.context_name == "where"
    assert list(FunctionTool(other).__newel_shape__.parameters) == ["ctx", "context"]


class Held:
    def method(self, x: int) -> int:
        """Return it."""
        return x

    @classmethod
    def of_class(cls, x: int) -> int:
        """Return it."""
        return x


def test_a_method_without_its_object_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"Held\.method cannot be a tool: its first parameter is 'self'"):
        FunctionTool(Held.method)._get_declaration()
    for fine in (Held().method, Held.of_class, functools.partial(Held.method, Held())):
        assert list(FunctionTool(fine)._get_declaration().parameters_json_schema["properties"]) == ["x"]


def test_the_decorator_in_a_factory_finds_its_types() -> None:
    def make() -> Any:
        class Item(BaseModel):
            n: int

        @tool
        def store(item: Item) -> str:
            """Store."""
            return "stored"

        return store

    schema = make()._get_declaration().parameters_json_schema
    assert "Item" in str(schema)
    assert Agent(name="a", tools=[make()]).tools
