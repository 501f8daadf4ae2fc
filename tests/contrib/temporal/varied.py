"""Agents of all kinds, made from a number: the same number is the same agent, with the same scripts of its models."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterable
from random import Random
from typing import Any

from newel import Context, Event, Workflow
from newel.agents import BaseAgent, InvocationContext, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from newel.testing import ScriptedModel
from newel.tools import AgentTool
from newel_types import Content, FunctionCall, Part

#: What no history of an engine may have.
SECRET = "words of nobody's business"


async def note(text: str, tool_context: Context) -> dict[str, str]:
    """Note a text in the state."""
    tool_context.state["notes"] = [*tool_context.state.get("notes", []), text]
    tool_context.state["temp:seen"] = tool_context.state.get("temp:seen", 0) + 1
    await asyncio.sleep(0.001)
    return {"noted": f"{SECRET}: {text}", "seen": str(tool_context.state["temp:seen"])}


def double(number: int) -> int:
    """Twice the number."""
    return 2 * number


def fail(why: str) -> str:
    """Fail."""
    raise ValueError(why)


class Twice(BaseAgent):
    """An agent of somebody's own, which keeps what it knows in memory."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        told = 0
        for one in (*self.sub_agents, *self.sub_agents):
            async for event in one.run_async(ctx):
                told += 1
                yield event
        content = Content(role="model", parts=[Part(text=f"told {told}")])
        yield Event(invocation_id=ctx.invocation_id, author=self.name, content=content)


class Maker:
    """Makes an agent of a number."""

    def __init__(self, number: int) -> None:
        self._random = Random(number)
        self._count = 0

    def name(self) -> str:
        self._count += 1
        return f"agent{self._count}"

    def agent(self, depth: int = 2) -> Any:
        kinds = [self.clerk, self.sequence, self.side_by_side, self.loop, self.own, self.transfer, self.boss]
        return (self._random.choice(kinds) if depth else self.clerk)(depth - 1)

    def calls(self) -> list[FunctionCall]:
        some = [
            FunctionCall(name="note", args={"text": f"{SECRET} {self._random.randrange(9)}"}),
            FunctionCall(name="double", args={"number": self._random.randrange(9)}),
            FunctionCall(name="fail", args={"why": SECRET}),
        ]
        return self._random.sample(some, self._random.randint(1, 3))

    def clerk(self, depth: int) -> LlmAgent:
        steps = [self.calls() for _ in range(self._random.randint(0, 2))]
        script = [*steps, f"{SECRET}: done"] * 12

        def before(callback_context: Context) -> None:
            callback_context.state["runs"] = callback_context.state.get("runs", 0) + 1

        return LlmAgent(
            name=self.name(),
            model=ScriptedModel(script),
            tools=[note, double, fail],
            output_key=self._random.choice([None, "last"]),
            before_agent_callback=self._random.choice([None, before]),
        )

    def some(self, depth: int) -> list[Any]:
        return [self.agent(depth) for _ in range(self._random.randint(1, 3))]

    def sequence(self, depth: int) -> BaseAgent:
        return SequentialAgent(name=self.name(), sub_agents=self.some(depth))

    def side_by_side(self, depth: int) -> BaseAgent:
        return ParallelAgent(name=self.name(), sub_agents=[self.clerk(0) for _ in range(self._random.randint(1, 3))])

    def loop(self, depth: int) -> BaseAgent:
        return LoopAgent(name=self.name(), sub_agents=self.some(depth), max_iterations=2)

    def own(self, depth: int) -> BaseAgent:
        return Twice(name=self.name(), sub_agents=self.some(depth))

    def transfer(self, depth: int) -> LlmAgent:
        target = self.clerk(0)
        script = [[FunctionCall(name="transfer_to_agent", args={"agent_name": target.name})]] * 12
        return LlmAgent(name=self.name(), model=ScriptedModel(script), sub_agents=[target])

    def boss(self, depth: int) -> LlmAgent:
        worker = self.clerk(0)
        script = [[FunctionCall(name=worker.name, args={"request": SECRET})], "asked"] * 12
        return LlmAgent(name=self.name(), model=ScriptedModel(script), tools=[AgentTool(worker)])

    def graph(self) -> Workflow:
        def first(node_input: str) -> str:
            return f"{node_input}!"

        async def last(node_input: str) -> int:
            await asyncio.sleep(0.01)
            return len(node_input)

        return Workflow(name=self.name(), edges=[("START", first, self.clerk(0), last)])


def compared(events: Iterable[Event]) -> list[str]:
    """What two runs of the same agent have in common: all but ids and times; branches of their own order apart."""
    ids: dict[str, str] = {}

    def plain(value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {key: plain(one, key) for key, one in value.items() if key not in ("timestamp", "invocation_id")}
        if isinstance(value, list):
            return [plain(one, name) for one in value]
        if isinstance(value, str) and (name in ("id", "run_id") or name.endswith("_ids")):
            return ids.setdefault(value, f"id {len(ids)}")
        return value

    ordered = sorted(events, key=lambda event: event.branch or "")
    return [json.dumps(plain({**event.model_dump(mode="json", exclude_none=True), "id": ""})) for event in ordered]
