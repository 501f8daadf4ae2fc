"""``test:`` calls every tool once and sums the results up."""

from __future__ import annotations

import json
import re
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, TypeAdapter

from newel.agents import LlmAgent
from newel.models.json_schemas import json_schema
from newel.models.offline.patterns import text_matching
from newel.models.offline.schemas import sample
from newel.models.test_model import create
from newel_kernel import ModelError
from newel_types import Schema, Type


def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


def paint(color: Literal["red", "blue"], layers: list[str] | None = None) -> dict[str, Any]:
    """Paints."""
    return {"color": color}


class Address(BaseModel):
    street: str
    number: int = Field(ge=1)


def deliver(address: Address) -> str:
    """Delivers."""
    return "done"


@pytest.mark.parametrize(("address", "steps"), [("test:", 3), ("test:parallel", 1)])
def test_calls_each_tool_once(kit: Any, address: str, steps: int) -> None:
    agent = LlmAgent(name="root", model=address, tools=[add, paint, deliver])
    talk = kit.Talk(agent)
    for _ in range(2):  # the second message calls them again
        events = talk.say("go")
        assert kit.calls_of(events) == [
            ("add", {"a": 0, "b": 0}),
            ("paint", {"color": "red"}),
            ("deliver", {"address": {"street": "example", "number": 1}}),
        ]
        assert sum(1 for event in events if event.get_function_calls()) == steps
        results = json.loads(kit.text_of(events[-1]))
        assert results == {"tools": {"add": 0, "paint": {"color": "red"}, "deliver": "done"}}


def test_leaves_out_transfer(kit: Any) -> None:
    child = LlmAgent(name="child", model="test:", description="Child.")
    events = kit.Talk(LlmAgent(name="root", model="test:", tools=[add], sub_agents=[child])).say("go")
    assert [name for name, _ in kit.calls_of(events)] == ["add"]
    assert {event.author for event in events} == {"root"}


def test_hands_its_result_in_last_and_alone(kit: Any) -> None:
    tools = [
        {"name": "finish_task", "parameters_json_schema": {"type": "object", "properties": {}}},
        {"name": "look"},
        {"name": "listen"},
    ]
    model = create("test:parallel")
    (first,) = kit.ask(model, kit.request("go", tools=tools))
    assert kit.called(first) == [("look", {}), ("listen", {})]
    done = [*kit.exchange("look", {}, {"result": 1}), *kit.exchange("listen", {}, {"result": 2})]
    (second,) = kit.ask(model, kit.request("go", *done, tools=tools))
    assert kit.called(second) == [("finish_task", {})]


def test_an_answer_with_a_schema_fits_it(kit: Any) -> None:
    (response,) = kit.ask(create("test:"), kit.request("go", response_schema=Address))
    assert Address.model_validate_json(kit.text_of(response)) == Address(street="example", number=1)


def test_nobody_else_has_that_address() -> None:
    with pytest.raises(ModelError, match="use 'test:' or 'test:parallel'"):
        create("test:serial")


class Node(BaseModel):
    label: str = Field(min_length=9, max_length=12)
    code: str = Field(pattern=r"^[A-Z]{2}-\d{3}$")
    weight: float = Field(gt=0, lt=1)
    count: int = Field(gt=4, multiple_of=5)
    kinds: list[Literal["a", "b"]] = Field(min_length=2)
    either: int | str
    address: Address
    children: list[Node] = Field(default_factory=list)


def test_samples_fit_their_schema() -> None:
    Node.model_validate(sample(json_schema(Node)))


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"enum": ["x", "y"]}, "x"),
        ({"const": 3}, 3),
        ({"type": "integer", "default": 7}, 7),
        ({"type": ["null", "boolean"]}, False),
        ({"anyOf": [{"type": "null"}, {"type": "number", "maximum": -2}]}, -2),
        ({"type": "string", "format": "date"}, "2024-01-01"),
        ({"type": "string", "maxLength": 3}, "exa"),
        ({"type": "array", "minItems": 2, "uniqueItems": True, "items": {"type": "integer"}}, [0, 1]),
        ({"allOf": [{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}]}, {"a": 0}),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"type": "boolean"}}}, False),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}, "example"),
        ({}, "example"),
    ],
)
def test_samples(schema: dict[str, Any], value: Any) -> None:
    assert sample(schema) == value


def test_the_dialect_of_the_service_is_read_as_json_schema() -> None:
    given = Schema(
        type=Type.OBJECT,
        properties={"min_items": Schema(type=Type.ARRAY, min_items=1, items=Schema(type=Type.STRING))},
        required=["min_items"],
    )
    assert json_schema(given)["properties"]["min_items"]["type"] == "array"
    assert sample(json_schema(given)) == {"min_items": ["example"]}
    assert json_schema(list[int]) == TypeAdapter(list[int]).json_schema()
    assert json_schema(None) == {}


@pytest.mark.parametrize(
    "pattern",
    [
        r"^\d{4}-\d{2}$",
        r"(foo|bar)+x?",
        r"[^a]b\.c",
        r"^[a-f0-9]{8,}$",
        r"^(?P<y>\w+)@(?:x|y)\.org$",
        r"a{2}b*c+?",
        "",
        r"[]a]b",
    ],
)
def test_texts_match_their_pattern(pattern: str) -> None:
    text = text_matching(pattern)
    assert text is not None
    assert re.search(pattern, text)


@pytest.mark.parametrize("pattern", ["(", r"^(?=a)b$", r"(?<!x)^a(?!a)$b"])
def test_a_pattern_that_is_not_understood_has_no_text(pattern: str) -> None:
    assert text_matching(pattern) is None
    assert sample({"type": "string", "pattern": pattern}) == "example"
