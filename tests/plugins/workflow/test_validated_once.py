"""What was validated reaches the next node as it was validated: aliases fit, and validators run once."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, computed_field, create_model, field_validator

from newel import Agent, Runner, Workflow
from newel.sessions import InMemorySessionService
from newel.testing import ScriptedModel
from newel_types import FunctionCall

#: A field: whether it has an alias, whether it may be left out, and its value.
_FIELDS = st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 99)), min_size=1, max_size=4)


class Tenfold(BaseModel):
    """Multiplies what it reads by ten: whoever validates it twice gets a hundredfold."""

    model_config = ConfigDict(extra="ignore")

    @field_validator("*", mode="before")
    @classmethod
    def _tenfold(cls, value: Any) -> Any:
        return value * 10 if isinstance(value, int) else value

    @computed_field  # type: ignore[prop-decorator]
    @property
    def count(self) -> int:
        return len(type(self).model_fields)


def model_of(fields: list[tuple[bool, bool, int]]) -> tuple[type[BaseModel], dict[str, int]]:
    """A class, and what a model writes for it."""
    definitions: dict[str, Any] = {}
    for number, (aliased, optional, _) in enumerate(fields):
        alias = {"alias": f"theField{number}"} if aliased else {}
        definitions[f"field_{number}"] = (
            (int | None, Field(default=None, **alias)) if optional else (int, Field(**alias))
        )
    names = [f"theField{n}" if aliased else f"field_{n}" for n, (aliased, _, _) in enumerate(fields)]
    made = create_model("Made", __base__=Tenfold, **definitions)
    return made, {name: value for name, (_, _, value) in zip(names, fields, strict=True)}


async def passed(source: Agent, kind: type[BaseModel]) -> list[Any]:
    got: list[Any] = []

    def take(node_input: Any) -> str:
        got.append(node_input)
        return "taken"

    take.__annotations__["node_input"] = kind
    graph = Workflow(name="graph", edges=[("START", source, take)])
    runner = Runner(
        agent=graph,
        app_name="app",
        session_service=InMemorySessionService(),
        auto_create_session=True,
        distribution="standard",
    )
    async for _ in runner.run_async(user_id="u", session_id="s", new_message="go"):
        pass
    return got


def look() -> str:
    """Look."""
    return "seen"


@pytest.mark.parametrize("by_tool", [False, True])
@settings(deadline=None, max_examples=25)
@given(fields=_FIELDS)
def test_an_agent_s_answer_is_validated_once(by_tool: bool, fields: list[tuple[bool, bool, int]]) -> None:
    kind, written = model_of(fields)
    answer: Any = FunctionCall(name="set_model_response", args=written) if by_tool else json.dumps(written)
    source = Agent(
        name="source",
        model=ScriptedModel([answer]),
        output_schema=kind,
        tools=[look] if by_tool else [],
        instruction="x",
    )
    (got,) = asyncio.run(passed(source, kind))
    assert got == kind.model_validate(written)
