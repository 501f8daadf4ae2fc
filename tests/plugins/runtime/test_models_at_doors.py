"""A model is validated once, where it comes in; what goes on is the model, or its JSON by alias."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, computed_field, create_model, field_validator

from newel import Agent, Context, Event, Workflow
from newel.events import RequestInput
from newel.testing import Conversation, ScriptedModel
from newel.tools import AgentTool, FunctionTool
from newel.workflow import FunctionNode, JoinNode, ToolNode, node
from newel_kernel import Session
from newel_types import Content, FunctionResponse, Part

Kind = type[BaseModel]
Written = dict[str, Any]
Door = Callable[[Kind, Written], Awaitable[None]]


class Tenfold(BaseModel):
    """Multiplies what it reads by ten: whoever validates it twice gets a hundredfold. Takes no other fields."""

    model_config = ConfigDict(extra="forbid")

    @field_validator("*", mode="before")
    @classmethod
    def _tenfold(cls, value: Any) -> Any:
        return value * 10 if isinstance(value, int) else value

    @computed_field  # type: ignore[prop-decorator]
    @property
    def count(self) -> int:
        return len(type(self).model_fields)


class Inner(BaseModel):
    the_key: int = Field(alias="theKey")


_NAMES: dict[str, Callable[[int], tuple[str | None, Written]]] = {
    "plain": lambda n: (None, {}),
    "alias": lambda n: (f"theField{n}", {"alias": f"theField{n}"}),
    "read": lambda n: (f"in{n}", {"validation_alias": f"in{n}"}),
    "written": lambda n: (None, {"serialization_alias": f"out{n}"}),
    "both": lambda n: (f"in{n}", {"validation_alias": f"in{n}", "serialization_alias": f"out{n}"}),
    "choices": lambda n: (f"b{n}", {"validation_alias": AliasChoices(f"a{n}", f"b{n}")}),
}
_VALUES: list[tuple[Any, Any]] = [
    (int, 7),
    (date, "2026-01-02"),
    (Decimal, "1.50"),
    (list[Inner], [{"theKey": 5}]),
    (int | None, None),
    (str, "ü"),
]
_FIELDS = st.lists(st.tuples(st.sampled_from(sorted(_NAMES)), st.sampled_from(_VALUES)), max_size=3)


def made(fields: list[tuple[str, tuple[Any, Any]]]) -> tuple[Kind, Written]:
    """A class, and the JSON that it reads."""
    definitions: Written = {}
    written: Written = {}
    for number, (names, (hint, value)) in enumerate([("alias", (int, 1)), *fields]):
        alias, options = _NAMES[names](number)
        definitions[f"field_{number}"] = (hint, Field(**options))
        written[alias or f"field_{number}"] = value
    return create_model("Made", __base__=Tenfold, **definitions), written


def told(kind: Kind, written: Written, *, by_alias: bool = True) -> Written:
    """What others are told."""
    return without_none(kind.model_validate(written).model_dump(mode="json", by_alias=by_alias))


def without_none(data: Written) -> Written:
    return {key: value for key, value in data.items() if value is not None}


def scripted(*steps: Any) -> ScriptedModel:
    return ScriptedModel(list(steps))


def call(name: str, args: Any) -> Written:
    return {"call": name, "args": args}


def look() -> int:
    """Look."""
    return 1


def typed(function: Callable[..., Any], **hints: Any) -> Callable[..., Any]:
    function.__annotations__.update({"return": hints.pop("gives", Any), **hints})
    return function


async def stored(agent: Any, *messages: Any) -> Session:
    chat = Conversation(agent, distribution="standard")
    for message in messages or ("go",):
        await chat.send(message)
    session = await chat.stored()
    assert session is not None
    return session


def results(session: Session, name: str) -> list[Any]:
    return [r.response for event in session.events for r in event.get_function_responses() if r.name == name]


async def passed(*chain: Any, hint: Any, message: str = "go", **fields: Any) -> list[Any]:
    """What a last node with the annotation `hint` gets."""
    got: list[Any] = []

    def take(node_input: Any) -> str:
        got.append(node_input)
        return "taken"

    typed(take, node_input=hint)
    await stored(Workflow(name="graph", edges=[("START", *chain, take)], **fields), message)
    return got


def answering(kind: Kind, written: Written, *, by_tool: bool = False, **fields: Any) -> Agent:
    """An agent that answers, as text or with the tool for it."""
    mode = fields.get("mode")
    answer = call("finish_task", written) if mode == "task" else json.dumps(written)
    answer = call("set_model_response", written) if by_tool else answer
    tools = [look] if by_tool else []
    return Agent(name="inner", description="x", model=scripted(answer), output_schema=kind, tools=tools, **fields)


def as_input(model: ScriptedModel) -> Written:
    """The JSON that the model was given as the message."""
    text = model.requests[0].contents[-1].parts[0].text
    return without_none(json.loads(text[text.index("{") : text.rindex("}") + 1]))


def agent_result(*, by_tool: bool) -> Door:
    async def check(kind: Kind, written: Written) -> None:
        inner = answering(kind, written, by_tool=by_tool)
        outer = Agent(name="a", model=scripted(call("inner", {"request": "x"}), "end"), tools=[AgentTool(inner)])
        (result,) = results(await stored(outer), "inner")
        assert without_none(result) == told(kind, written)

    return check


def delegated_result(mode: str) -> Door:
    async def check(kind: Kind, written: Written) -> None:
        inner = answering(kind, written, mode=mode)
        outer = Agent(name="a", model=scripted(call("inner", {"request": "x"}), "end"), sub_agents=[inner])
        result = results(await stored(outer), "inner")[-1]
        assert without_none(result) == told(kind, written)

    return check


def agent_input(mode: str | None) -> Door:
    async def check(kind: Kind, written: Written) -> None:
        model = scripted(call("finish_task", {"result": "x"}) if mode == "task" else "done")
        inner = Agent(name="inner", description="x", model=model, input_schema=kind, mode=mode)
        given: Written = {"tools": [AgentTool(inner)]} if mode is None else {"sub_agents": [inner]}
        await stored(Agent(name="a", model=scripted(call("inner", written), "end"), **given))
        # A task agent reads what was written for it.
        assert as_input(model) in (told(kind, written), without_none(written) if mode == "task" else None)

    return check


def in_state(*, by_tool: bool) -> Door:
    async def check(kind: Kind, written: Written) -> None:
        got: list[Any] = []
        take = typed(lambda found: got.append(found), found=kind)
        source = answering(kind, written, by_tool=by_tool, output_key="found")
        session = await stored(Workflow(name="g", edges=[("START", source, FunctionNode(take, name="take"))]))
        assert session.state["found"] == told(kind, written, by_alias=False)
        assert got == [kind.model_validate(written)]

    return check


def edge(*, by_tool: bool, mode: str | None = None) -> Door:
    async def check(kind: Kind, written: Written) -> None:
        source = answering(kind, written, by_tool=by_tool, mode=mode)
        assert await passed(source, hint=kind) == [kind.model_validate(written)]

    return check


def gives(wrap: Callable[[Any], Any], hint: Callable[[Any], Any]) -> Door:
    """A node gives a model, or several, in what `wrap` makes of it; the next one asks for `hint`."""

    async def check(kind: Kind, written: Written) -> None:
        value = wrap(kind.model_validate(written))
        want = wrap(kind.model_validate(written))
        got = await passed(FunctionNode(typed(lambda: value), name="give"), hint=hint(kind))
        assert got == [want.output if isinstance(want, Event) else want]

    return check


async def declared_output(kind: Kind, written: Written) -> None:
    give = FunctionNode(typed(lambda: written, gives=kind), name="give")
    assert await passed(give, hint=kind) == [kind.model_validate(written)]


async def nested_graph(kind: Kind, written: Written) -> None:
    give = FunctionNode(typed(lambda: kind.model_validate(written)), name="give")
    keep = FunctionNode(typed(lambda node_input: node_input, node_input=kind), name="keep")
    inner = Workflow(name="inner", edges=[("START", keep)], input_schema=kind, output_schema=kind)
    assert await passed(give, inner, hint=kind) == [kind.model_validate(written)]


async def joined(kind: Kind, written: Written) -> None:
    want = kind.model_validate(written)
    one, two = (FunctionNode(typed(lambda: want.model_copy()), name=name) for name in ("one", "two"))
    assert await passed((one, two), JoinNode(name="join"), hint=dict[str, kind]) == [{"one": want, "two": want}]


async def worker(kind: Kind, written: Written) -> None:
    want = kind.model_validate(written)
    give = FunctionNode(typed(lambda: [want, want]), name="give")
    keep = node(FunctionNode(typed(lambda node_input: node_input, node_input=kind), name="keep"), parallel_worker=True)
    assert await passed(give, keep, hint=list[kind]) == [[want, want]]


async def node_of_a_tool(kind: Kind, written: Written) -> None:
    got: list[Any] = []

    def take(value: Any) -> str:
        got.append(value)
        return "taken"

    give = FunctionNode(typed(lambda: {"value": kind.model_validate(written)}), name="give")
    tool = ToolNode(FunctionTool(typed(take, value=kind)))
    await stored(Workflow(name="g", edges=[("START", give, tool)]))
    assert got == [kind.model_validate(written)]


async def dynamic_nodes(kind: Kind, written: Written) -> None:
    model = scripted("done")

    async def run(ctx: Context) -> Any:
        value = await ctx.run_node(FunctionNode(typed(lambda: kind.model_validate(written)), name="give"))
        await ctx.run_node(Agent(name="in_text", model=model), kind.model_validate(written))
        return await ctx.run_node(FunctionNode(typed(lambda node_input: node_input, node_input=kind), name="k"), value)

    assert await passed(node(run, rerun_on_resume=True), hint=kind) == [kind.model_validate(written)]
    assert as_input(model) == told(kind, written)


async def agent_after_a_node(kind: Kind, written: Written) -> None:
    model = scripted("done")
    give = FunctionNode(typed(lambda: kind.model_validate(written)), name="give")
    await stored(Workflow(name="g", edges=[("START", give, Agent(name="a", model=model, input_schema=kind))]))
    assert as_input(model) == told(kind, written)


async def message(kind: Kind, written: Written) -> None:
    got = await passed(hint=kind, message=json.dumps(written), input_schema=kind)
    assert got == [kind.model_validate(written)]


async def graph_as_a_tool(kind: Kind, written: Written) -> None:
    got: list[Any] = []

    def keep(node_input: Any) -> Any:
        got.append(node_input)
        return node_input

    typed(keep, node_input=kind, gives=kind)
    inner = Workflow(name="inner", edges=[("START", keep)], input_schema=kind, output_schema=kind)
    outer = Agent(name="a", model=scripted(call("inner", written), "end"), tools=[AgentTool(inner)])
    (result,) = results(await stored(outer), "inner")
    assert got == [kind.model_validate(written)]
    assert without_none(result) == told(kind, written)


def parameter(wrap: Callable[[Any], Any], hint: Callable[[Any], Any]) -> Door:
    async def check(kind: Kind, written: Written) -> None:
        got: list[Any] = []

        def take(value: Any) -> str:
            """Take."""
            got.append(value)
            return "taken"

        tools = [typed(take, value=hint(kind))]
        await stored(Agent(name="a", tools=tools, model=scripted(call("take", {"value": wrap(written)}), "end")))
        assert got == [wrap(kind.model_validate(written))]

    return check


async def result_of_a_function(kind: Kind, written: Written) -> None:
    def give() -> Any:
        """Give."""
        return kind.model_validate(written)

    def several() -> Any:
        """Give."""
        return {"all": [kind.model_validate(written)]}

    model = scripted(call("give", {}), call("several", {}), "end")
    session = await stored(Agent(name="a", tools=[give, several], model=model))
    assert without_none(results(session, "give")[0]) == told(kind, written)
    assert without_none(results(session, "several")[0]["all"][0]) == told(kind, written)


async def question(kind: Kind, written: Written) -> None:
    got: list[Any] = []
    ask = FunctionNode(
        typed(lambda: RequestInput(interrupt_id="q", payload=kind.model_validate(written), response_schema=kind)),
        name="ask",
    )
    take = FunctionNode(typed(lambda node_input: got.append(node_input), node_input=kind), name="take")
    chat = Conversation(Workflow(name="g", edges=[("START", ask, take)]), distribution="standard")
    (asked,) = [c for event in await chat.send("go") for c in event.get_function_calls()]
    assert without_none((asked.args or {})["payload"]) == told(kind, written)
    answer = {name.replace("b", "a", 1) if name.startswith("b") else name: v for name, v in written.items()}
    response = FunctionResponse(id=asked.id, name=asked.name, response=answer)  # by the names that the question shows
    await chat.send(Content(role="user", parts=[Part(function_response=response)]))
    assert got == [kind.model_validate(written)]


DOORS: dict[str, Door] = {
    "result of an AgentTool": agent_result(by_tool=False),
    "result of an AgentTool that answers by tool": agent_result(by_tool=True),
    "result of a task agent": delegated_result("task"),
    "result of a single-turn agent": delegated_result("single_turn"),
    "input of an AgentTool": agent_input(None),
    "input of a task agent": agent_input("task"),
    "input of a single-turn agent": agent_input("single_turn"),
    "output_key": in_state(by_tool=False),
    "output_key by tool": in_state(by_tool=True),
    "from an agent to a node": edge(by_tool=False),
    "from an agent that answers by tool": edge(by_tool=True),
    "from a task agent to a node": edge(by_tool=False, mode="task"),
    "from node to node": gives(lambda m: m, lambda k: k),
    "a list from node to node": gives(lambda m: [m, m], lambda k: list[k]),
    "a dict from node to node": gives(lambda m: {"one": m}, lambda k: dict[str, k]),
    "a model or nothing": gives(lambda m: m, lambda k: k | None),
    "the output of an event": gives(lambda m: Event(output=m), lambda k: k),
    "a declared output": declared_output,
    "a graph in a graph": nested_graph,
    "a join": joined,
    "a parallel worker": worker,
    "a tool as a node": node_of_a_tool,
    "nodes that code runs": dynamic_nodes,
    "from a node to an agent": agent_after_a_node,
    "a message to a graph": message,
    "a graph as a tool": graph_as_a_tool,
    "a parameter": parameter(lambda v: v, lambda k: k),
    "a list as a parameter": parameter(lambda v: [v], lambda k: list[k]),
    "a dict as a parameter": parameter(lambda v: {"one": v}, lambda k: dict[str, k]),
    "the result of a function": result_of_a_function,
    "a question and its answer": question,
}


@pytest.mark.parametrize("door", DOORS)
@settings(deadline=None, max_examples=8)
@given(fields=_FIELDS)
def test_a_model_is_validated_once(door: str, fields: list[tuple[str, tuple[Any, Any]]]) -> None:
    asyncio.run(DOORS[door](*made(fields)))
