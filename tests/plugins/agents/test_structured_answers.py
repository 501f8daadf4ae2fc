"""Structured answers: found in what models write, validated once, and asked for again."""

from __future__ import annotations

import asyncio
import json
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, computed_field, field_validator

import newel
from newel import Agent, Workflow
from newel.testing import Conversation, ScriptedModel
from newel.tools import AgentTool
from newel.tools.structured_output import OutputSchemaError, validated


class Number(BaseModel):
    n: int


class Renamed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    count: int = Field(alias="theCount")

    @computed_field  # type: ignore[prop-decorator]
    @property
    def double(self) -> int:
        return self.count * 2


class Doubled(BaseModel):
    n: int

    @field_validator("n", mode="before")
    @classmethod
    def twice(cls, value: int) -> int:
        return value * 2


def look() -> int:
    """Look."""
    return 1


async def state_of(agent: Agent, distribution: str = "standard") -> object:
    chat = Conversation(agent, distribution=distribution)
    await chat.send("go")
    session = await chat.stored()
    assert session is not None
    return session.state.get("o")


_PROSE = st.text(st.characters(exclude_characters='{}[]`~<>\\"', exclude_categories=("Cs",)), max_size=30)
_WRAPS = st.sampled_from(
    [
        "{}",
        "```json\n{}\n```",
        "```\n{}\n```",
        "~~~json\n{}\n~~~",
        '<think>maybe {{"n": 5}} or [1]</think>{}',
        "<think>a</think>\n<think>b</think>\n{}",
        'I reason {{"n": 8}}\n</think>\n{}',
        "\ufeff{}",
        "\ufeff```json\n{}\n```\n",
    ]
)


@settings(max_examples=150, deadline=None)
@given(_WRAPS, _PROSE, _PROSE, st.integers(-(2**70), 2**70), st.booleans())
def test_an_answer_is_found_in_what_stands_around_it(wrap: str, before: str, after: str, n: int, prose: bool) -> None:
    text = wrap.format(json.dumps({"n": n}, indent=2))
    if prose and text[0] not in "<I\ufeff":
        text = f"{before}\n{text}\n{after}"
    assert validated(Number, text) == {"n": n}


@settings(max_examples=100, deadline=None)
@given(
    st.recursive(st.none() | st.integers() | st.text(max_size=9), lambda s: st.lists(s) | st.dictionaries(st.text(), s))
)
def test_json_that_is_cut_off_has_no_answer_within(value: object) -> None:
    text = json.dumps({"outer": value, "inner": {"n": 1}})
    with pytest.raises(OutputSchemaError):
        validated(Number, text[:-1])


@pytest.mark.parametrize(
    "text", ["not json", '{"n": 1} or {"n": 2}', "", '<think>{"n": 1}', '{"a": {"n": 1}', '{"n": "x"}', "[" * 100_000]
)
def test_what_is_ambiguous_or_missing_is_refused(text: str) -> None:
    with pytest.raises(OutputSchemaError):
        validated(Number, text)


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        (str, "hello world", "hello world"),
        (str, '"hello"', "hello"),
        (str, "<think>hm</think>hello", "hello"),
        (str, "write </think> there", "write </think> there"),
        (Literal["red", "blue"], "red", "red"),
        (int, "```\n5\n```", 5),
        (list[int], "Here: [1, 2].", [1, 2]),
        ({"type": "object", "required": ["a"]}, 'see [1]: {"a": 2}', {"a": 2}),
        (Number, '{"n": 1} and again {"n": 1}', {"n": 1}),
    ],
)
def test_other_schemas(schema: object, text: str, value: object) -> None:
    assert validated(schema, text) == value


@pytest.mark.parametrize("distribution", ["standard", "adk"])
@pytest.mark.parametrize(
    ("schema", "args", "value"),
    [
        (Renamed, {"theCount": 1}, {"count": 1, "double": 2}),
        (Doubled, {"n": 1}, {"n": 2}),
        (list[Doubled], None, [{"n": 2}]),
    ],
)
def test_an_answer_by_tool_is_validated_once(distribution: str, schema: object, args: object, value: object) -> None:
    call = {"call": "set_model_response", "args": args or {"items": [{"n": 1}]}}
    by_tool = Agent(name="a", model=ScriptedModel([call]), tools=[look], output_schema=schema, output_key="o")
    text = json.dumps(args or [{"n": 1}])
    by_text = Agent(name="a", model=ScriptedModel([text]), output_schema=schema, output_key="o")
    assert asyncio.run(state_of(by_tool, distribution)) == asyncio.run(state_of(by_text, distribution)) == value


def test_agents_as_tools_and_in_graphs_hand_over_what_was_validated_once() -> None:
    call = {"call": "set_model_response", "args": {"n": 1}}
    kid = Agent(name="kid", model=ScriptedModel([call, call]), tools=[look], output_schema=Doubled)
    boss = Agent(
        name="boss", model=ScriptedModel([{"call": "kid", "args": {"request": "x"}}, "ok"]), tools=[AgentTool(kid)]
    )
    turn = asyncio.run(Conversation(boss).send("go"))
    assert turn.results == [{"n": 2}]

    def show(node_input: object) -> object:
        return {"got": node_input}

    turn = asyncio.run(Conversation(Workflow(name="w", edges=[("START", kid, show)])).send("go"))
    assert turn[-1].output == {"got": {"n": 2}}


def test_the_model_is_asked_again_with_the_error() -> None:
    model = ScriptedModel(["not json", '{"n": "x"}', 'It is {"n": 3}.'])
    chat = Conversation(Agent(name="a", model=model, output_schema=Number, output_key="o"))

    async def go() -> None:
        turn = await chat.send("go")
        assert turn.text == 'It is {"n": 3}.'
        session = await chat.stored()
        assert session is not None
        assert session.state == {"o": {"n": 3}}
        assert [e.error_code for e in session.events] == [None, "INVALID_OUTPUT", "INVALID_OUTPUT", None]
        assert [e.is_final_response() for e in turn] == [False, False, True]

    asyncio.run(go())
    assert "n: Input should be a valid integer" in model.requests[2].contents[-1].parts[0].text


def test_at_last_one_error_names_agent_and_field_also_without_output_key() -> None:
    model = ScriptedModel(['{"n": "secret"}'] * 4)
    with pytest.raises(OutputSchemaError, match=r"agent 'a' .*\(3 answers\).*n: Input should be"):
        newel.run(Agent(name="a", model=model, output_schema=Number), "go")
    assert len(model.requests) == 3
    loose = ScriptedModel("no")
    with pytest.raises(OutputSchemaError, match="agent 'a'"):  # a run that returns the value cannot return this one
        newel.run(Agent(name="a", model=loose, output_schema=Number), "go", distribution="adk")
    assert len(loose.requests) == 1


class Aliased(BaseModel):
    n: int = Field(alias="theN")


def test_what_a_node_validated_arrives_as_it_is() -> None:
    def first(node_input: object) -> Doubled:
        return Doubled(n=1)

    def second(node_input: Doubled) -> Aliased:
        assert isinstance(node_input, Doubled)
        return Aliased(theN=node_input.n)

    def third(node_input: Aliased) -> Renamed:
        return Renamed(theCount=node_input.n)

    def fourth(node_input: Renamed) -> int:
        node_input.count += 0
        return node_input.double

    def bare(node_input: dict[str, int]) -> dict[str, int]:
        return {"got": node_input["theN"]}

    turn = asyncio.run(Conversation(Workflow(name="w", edges=[("START", first, second, third, fourth)])).send("go"))
    assert [event.output for event in turn] == [{"n": 2}, {"theN": 2}, {"theCount": 2, "double": 4}, 4]
    turn = asyncio.run(Conversation(Workflow(name="w", edges=[("START", first, second, bare)])).send("go"))
    assert turn[-1].output == {"got": 2}
