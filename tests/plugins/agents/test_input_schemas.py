"""What an agent is given by another one: validated once, and told by the names that its schema is validated by."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from pydantic import BaseModel, Field, field_validator

from newel import Agent
from newel.testing import Conversation, ScriptedModel
from newel.tools import AgentTool


class Inner(BaseModel):
    key: int = Field(alias="theKey")


class Order(BaseModel):
    count: int = Field(alias="theCount")
    items: list[Inner] = []

    @field_validator("count", mode="before")
    @classmethod
    def _next(cls, value: Any) -> Any:
        return value + 1


@pytest.mark.parametrize("distribution", ["adk", "standard"])
@pytest.mark.parametrize("way", ["single_turn", "task", "tool"])
def test_the_agent_reads_the_names_of_the_schema(way: str, distribution: str) -> None:
    steps: list[Any] = ["done"] if way != "task" else [{"call": "finish_task", "args": {"result": "done"}}]
    inner = ScriptedModel(steps)
    fields: dict[str, Any] = {} if way == "tool" else {"mode": way}
    helper = Agent(name="helper", description="Helps.", model=inner, input_schema=Order, **fields)
    sent = {"theCount": 1, "items": [{"theKey": 2}]}
    model = ScriptedModel([{"call": "helper", "args": sent}, "end"])
    given: dict[str, Any] = {"tools": [AgentTool(helper)]} if way == "tool" else {"sub_agents": [helper]}
    asyncio.run(Conversation(Agent(name="a", model=model, **given), distribution=distribution).send("go"))
    text = inner.requests[0].contents[0].parts[0].text
    read = json.loads(text[text.index("{") : text.rindex("}") + 1])
    assert read["items"] == [{"theKey": 2}]
    assert read["theCount"] in ((1,) if way == "task" else (2,))
