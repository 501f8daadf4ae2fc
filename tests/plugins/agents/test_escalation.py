"""Leaving a loop further out, and siblings that stop."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import pytest

from newel import Agent, Runner
from newel.agents import BaseAgent, LoopAgent, ParallelAgent, SequentialAgent
from newel.sessions import InMemorySessionService
from newel.testing import Conversation, ScriptedModel
from newel.tools import ExitLoopTool
from newel_compose import compose, compose_once
from newel_kernel import Event, EventActions


class Step(BaseAgent):
    """Counts its runs; in its `at`-th one it leaves the loop `leaves` (the innermost one, if that is empty)."""

    at: int = 0
    leaves: str = ""
    ran: int = 0

    async def _run_async_impl(self, ctx: Any) -> Any:
        self.ran += 1
        actions = EventActions(escalate=True, route=self.leaves or None) if self.ran == self.at else EventActions()
        yield Event(author=self.name, invocation_id=ctx.invocation_id, branch=ctx.branch, actions=actions)


def nest(random: Random, depth: int, names: list[str], loops: list[str]) -> BaseAgent:
    names.append(name := f"n{len(names)}")
    kind = random.choice(["step", "loop", "loop", "sequence"]) if depth else "step"
    if kind == "step":
        leaves = random.choice(["", *loops, "nowhere"])
        return Step(name=name, at=random.choice([0, 1, 1, 2, 3]), leaves=leaves)
    inner = [*loops, name] if kind == "loop" else loops
    below = [nest(random, depth - 1, names, inner) for _ in range(random.randint(1, 3))]
    if kind == "loop":
        return LoopAgent(name=name, max_iterations=random.randint(1, 3), sub_agents=below)
    return SequentialAgent(name=name, sub_agents=below)


#: The loop that is left, and whether the agent named it.
Exit = tuple[str, bool]


def expected(agent: BaseAgent, counts: dict[str, int], loops: list[str]) -> Exit:
    """Run the tree by the rule."""
    if isinstance(agent, Step):
        counts[agent.name] = counts.get(agent.name, 0) + 1
        if counts[agent.name] != agent.at:
            return "", False
        return (agent.leaves, True) if agent.leaves in loops else (loops[-1], False)
    if isinstance(agent, LoopAgent):
        for _ in range(agent.max_iterations or 0):
            for one in agent.sub_agents:
                left, named = expected(one, counts, [*loops, agent.name])
                if left:
                    return ("", False) if left == agent.name else (left, named)
        return "", False
    escapes = ("", False)
    for one in agent.sub_agents:
        left, named = expected(one, counts, loops)
        if named:
            return left, named
        escapes = (left, named) if left else escapes  # a sequence goes on
    return escapes


@pytest.mark.parametrize("distribution", ["standard", "adk"])
@pytest.mark.parametrize("seed", range(60))
def test_an_escalation_leaves_the_loop_that_it_names(seed: int, distribution: str) -> None:
    random = Random(seed)
    names: list[str] = []
    body = [nest(random, 4, names, ["root"]) for _ in range(2)]
    root = LoopAgent(name="root", max_iterations=2, sub_agents=body)
    counts: dict[str, int] = {}
    expected(root, counts, [])
    Conversation(root, distribution=distribution).say("go")
    assert steps(root) == counts


def steps(agent: BaseAgent) -> dict[str, int]:
    found = {agent.name: agent.ran} if isinstance(agent, Step) and agent.ran else {}
    for one in agent.sub_agents:
        found |= steps(one)
    return found


def exits(name: str, tool: Any, call: str) -> Agent:
    return Agent(name=name, model=ScriptedModel([{"call": call}, *["go on"] * 20]), tools=[tool])


@pytest.mark.parametrize("distribution", ["standard", "adk"])
@pytest.mark.parametrize("sequence", [False, True])
def test_a_tool_leaves_the_loop_that_it_names(distribution: str, sequence: bool) -> None:
    behind, last = Step(name="behind"), Step(name="last")
    leaver = exits("leaver", ExitLoopTool("outer"), "exit_outer")
    inner: BaseAgent = LoopAgent(name="inner", sub_agents=[leaver, Step(name="beside")], max_iterations=5)
    body = [SequentialAgent(name="seq", sub_agents=[inner, behind])] if sequence else [inner, behind]
    outer = LoopAgent(name="outer", sub_agents=body, max_iterations=4)
    root = LoopAgent(name="root", sub_agents=[outer, last], max_iterations=2)
    Conversation(root, distribution=distribution).say("go")
    # Left in the first round of the root; in the second one nobody leaves.
    assert (behind.ran, last.ran) == (4, 2)


# --- siblings -------------------------------------------------------------------------------------------------------


class Slow(BaseAgent):
    """Works for ever, and says how it ended."""

    began: bool = False
    ended: str = ""

    async def _run_async_impl(self, ctx: Any) -> Any:
        try:
            self.began = True
            yield Event(author=self.name, invocation_id=ctx.invocation_id, branch=ctx.branch, message="begun")
            await asyncio.sleep(0 if self.ended == "quick" else 30)
            self.ended = "done"
            yield Event(author=self.name, invocation_id=ctx.invocation_id, branch=ctx.branch, message="late")
        except asyncio.CancelledError:
            self.ended = "stopped"
            raise


class Escalating(BaseAgent):
    async def _run_async_impl(self, ctx: Any) -> Any:
        await asyncio.sleep(0.02)
        where: dict[str, Any] = {"author": self.name, "invocation_id": ctx.invocation_id, "branch": ctx.branch}
        yield Event(**where, actions=EventActions(escalate=True))
        yield Event(**where, message="my last word")


def texts(events: list[Event]) -> list[str]:
    return [part.text or "" for event in events if event.content for part in event.content.parts or ()]


def test_the_others_stop_and_the_one_that_escalated_ends_by_itself() -> None:
    slow, slower = Slow(name="slow"), Slow(name="slower")
    after = Agent(name="after", model=ScriptedModel(["after"]))
    both = ParallelAgent(name="both", sub_agents=[slow, Escalating(name="esc"), slower])
    events = Conversation(SequentialAgent(name="root", sub_agents=[both, after])).say("go")
    assert (slow.ended, slower.ended) == ("stopped", "stopped")
    assert texts(events)[-2:] == ["my last word", "after"]


def test_it_ends_the_loop_around_them() -> None:
    slow = Slow(name="slow")
    both = ParallelAgent(name="both", sub_agents=[slow, Escalating(name="esc")])
    events = Conversation(LoopAgent(name="loop", sub_agents=[both])).say("go")
    assert texts(events).count("my last word") == 1


def test_a_tool_that_was_running_has_a_result() -> None:
    async def wait() -> str:
        """Wait."""
        await asyncio.sleep(30)
        return "never"

    worker = Agent(name="worker", model=ScriptedModel([{"call": "wait"}, "never"]), tools=[wait])
    both = ParallelAgent(name="both", sub_agents=[worker, Escalating(name="esc")])
    events = Conversation(both).say("go")
    (call,) = [call for event in events for call in event.get_function_calls()]
    (result,) = [response for event in events for response in event.get_function_responses()]
    assert result.id == call.id
    assert "cancelled" in str(result.response)


def test_by_setting_the_others_run_on() -> None:
    for distribution, setting, ended in (("adk", None, "done"), ("adk", True, "stopped"), ("standard", False, "done")):
        base = compose_once(distribution).distribution
        agents = {"agents": {"stop_siblings": setting}} if setting is not None else {}
        composition = compose(base.model_copy(update={"settings": {**base.settings, **agents}}))

        class Waiting(Slow):
            async def _run_async_impl(self, ctx: Any) -> Any:
                try:
                    await asyncio.sleep(0.2)
                    self.ended = "done"
                except asyncio.CancelledError:
                    self.ended = "stopped"
                    raise
                yield Event(author=self.name, invocation_id=ctx.invocation_id, branch=ctx.branch, message="late")

        quick = Waiting(name="waiting")
        root = ParallelAgent(name="both", sub_agents=[quick, Escalating(name="esc")])
        runner = Runner(
            agent=root,
            app_name="a",
            session_service=InMemorySessionService(),
            auto_create_session=True,
            composition=composition,
        )
        asyncio.run(runner.run_debug("go", quiet=True))
        assert quick.ended == ended


def test_a_run_that_is_cancelled_from_outside_is_cancelled() -> None:
    slow = Slow(name="slow")
    root = ParallelAgent(name="both", sub_agents=[slow, Slow(name="other")])
    store = InMemorySessionService()
    runner = Runner(agent=root, app_name="a", session_service=store, auto_create_session=True)

    async def main() -> None:
        task = asyncio.create_task(runner.run_debug("go", quiet=True))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert slow.ended == "stopped"
