"""Loops within loops: an escalation ends the innermost one."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from newel.agents import BaseAgent, LoopAgent, SequentialAgent
from newel.testing import Conversation
from newel_kernel import Event, EventActions


class Step(BaseAgent):
    """Counts its runs; escalates in every `every`-th one, 0: never."""

    every: int = 0
    ran: int = 0

    async def _run_async_impl(self, ctx: Any) -> Any:
        self.ran += 1
        escalates = self.every > 0 and self.ran % self.every == 0
        yield Event(author=self.name, invocation_id=ctx.invocation_id, branch=ctx.branch, message=f"{self.name}")
        yield Event(author=self.name, invocation_id=ctx.invocation_id, actions=EventActions(escalate=escalates or None))


def nest(random: Random, depth: int, names: list[str]) -> BaseAgent:
    """A random tree of composites with steps as its leaves."""
    names.append(name := f"n{len(names)}")
    kind = random.choice(["step", "loop", "loop", "sequence"]) if depth else "step"
    if kind == "step":
        return Step(name=name, every=random.choice([0, 0, 1, 2]))
    below = [nest(random, depth - 1, names) for _ in range(random.randint(1, 3))]
    if kind == "loop":
        return LoopAgent(name=name, max_iterations=random.randint(1, 3), sub_agents=below)
    return SequentialAgent(name=name, sub_agents=below)


def expected(agent: BaseAgent, counts: dict[str, int]) -> bool:
    """Run the tree by the rule; return whether it escalates out of `agent`."""
    if isinstance(agent, Step):
        counts[agent.name] = counts.get(agent.name, 0) + 1
        return agent.every > 0 and counts[agent.name] % agent.every == 0
    if isinstance(agent, LoopAgent):
        for _ in range(agent.max_iterations or 0):
            for one in agent.sub_agents:
                if expected(one, counts):
                    return False
        return False
    outcomes = [expected(one, counts) for one in agent.sub_agents]  # a sequence goes on
    return any(outcomes)


def steps(agent: BaseAgent) -> dict[str, int]:
    found = {agent.name: agent.ran} if isinstance(agent, Step) and agent.ran else {}
    for one in agent.sub_agents:
        found |= steps(one)
    return found


@pytest.mark.parametrize("distribution", ["standard", "adk"])
@pytest.mark.parametrize("seed", range(40))
def test_an_escalation_ends_the_innermost_loop(seed: int, distribution: str) -> None:
    random = Random(seed)
    names: list[str] = []
    root = LoopAgent(name="root", max_iterations=2, sub_agents=[nest(random, 3, names) for _ in range(2)])
    counts: dict[str, int] = {}
    expected(root, counts)
    Conversation(root, distribution=distribution).say("go")
    assert steps(root) == counts
