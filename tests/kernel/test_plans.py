"""What the chains do for an agent: worked out once, and again as soon as something that it follows from is another."""

from __future__ import annotations

import asyncio
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest

from newel_kernel import DONE, BaseAgent, Chains, LlmRequest, Plan, RequestProcessor, ResponseProcessor, prepare


class Empty:
    """A registry without anything in it."""

    def all(self, kind: type[Any]) -> list[Any]:
        return []


def nothing(*_: Any) -> None:
    """Does nothing."""


def made(name: str) -> Any:
    return lambda agent: (name, agent.name, agent.description)


def chains(**fields: Any) -> Chains:
    return Chains(registry=Empty(), **fields)  # type: ignore[arg-type]


def plan(agent: BaseAgent, composition: Chains) -> Plan:
    return Plan.of(SimpleNamespace(agent=agent, composition=composition))  # type: ignore[arg-type]


def tree() -> tuple[BaseAgent, BaseAgent]:
    leaf = BaseAgent(name="leaf")
    return BaseAgent(name="root", sub_agents=[leaf]), leaf


def test_the_steps_are_those_that_apply_to_the_agent() -> None:
    def root_only(agent: BaseAgent) -> bool:
        return agent.name == "root"

    composition = chains(
        request_chain=(
            RequestProcessor(name="plain", run=nothing),
            RequestProcessor(name="root", run=nothing, applies_to=root_only),
            RequestProcessor(name="own", run=nothing, for_agent=made("own")),
        ),
        response_chain=(
            ResponseProcessor(name="root", run=made("response"), applies_to=root_only),
            ResponseProcessor(name="plain", run=nothing),
        ),
    )
    root, leaf = tree()
    assert list(plan(leaf, composition).request) == [nothing, ("own", "leaf", "")]
    assert list(plan(root, composition).request) == [nothing, nothing, ("own", "root", "")]
    assert [len(plan(one, composition).response) for one in (leaf, root)] == [1, 2]


@pytest.mark.parametrize("continues", [True, False])
def test_a_step_for_continuations_runs_only_in_a_run_that_continues_something(*, continues: bool) -> None:
    ran: list[str] = []
    steps = [
        RequestProcessor(name=name, run=lambda _ctx, _request, name=name: ran.append(name), on_continuation=rare)
        for name, rare in (("first", False), ("rare", True), ("last", False))
    ]
    agent = SimpleNamespace(tools=())
    composition = chains(request_chain=tuple(steps))
    made_plan = plan(tree()[0], composition)
    ctx: Any = SimpleNamespace(continues=continues, end_invocation=False, agent=agent)
    assert asyncio.run(prepare(ctx, made_plan, LlmRequest())) == (DONE, ())
    assert ran == (["first", "rare", "last"] if continues else ["first", "last"])


def test_a_plan_holds_until_a_field_of_the_tree_is_assigned() -> None:
    composition = chains()
    root, leaf = tree()
    first = plan(leaf, composition)
    assert first.root is root.__newel__
    assert plan(leaf, composition) is first
    root.description = "new"
    second = plan(leaf, composition)
    assert second is not first
    assert plan(leaf, composition) is second


def test_a_plan_is_of_its_chains() -> None:
    _, leaf = tree()
    step, answer = RequestProcessor(name="step", run=nothing), ResponseProcessor(name="answer", run=nothing)
    counts = [
        (len(one.request), len(one.response))
        for one in (
            plan(leaf, composition)
            for composition in (chains(), chains(request_chain=(step,)), chains(response_chain=(answer,)))
        )
    ]
    assert counts == [(0, 0), (1, 0), (0, 1)]


def test_an_agent_that_moves_to_another_tree_gets_another_plan() -> None:
    composition = chains()
    root, leaf = tree()
    other = BaseAgent(name="other")
    first, edits = plan(leaf, composition), root.__newel__.edits
    leaf.parent_agent = other
    assert other.__newel__.edits == edits  # so that nothing but the root tells them apart
    second = plan(leaf, composition)
    assert (second is first, second.root) == (False, other.__newel__)


def test_a_copy_of_an_agent_has_a_plan_of_its_own() -> None:
    composition = chains()
    _, leaf = tree()
    first = plan(leaf, composition)
    copy = leaf.model_copy()
    assert plan(copy, composition) is not first
    assert plan(leaf, composition) is first


class Asking(BaseAgent):
    """An agent with callbacks around its model calls."""

    before_model_callback: Any = None
    on_model_error_callback: Any = None
    after_model_callback: Any = None


@pytest.mark.parametrize("callbacks", list(product([None, nothing], repeat=3)))
def test_a_plan_says_whether_hooks_may_surround_the_agent_s_model_calls(callbacks: tuple[Any, ...]) -> None:
    hooks = ("before_model_callback", "on_model_error_callback", "after_model_callback")
    agent = Asking(name="asking", **dict(zip(hooks, callbacks, strict=True)))
    assert plan(agent, chains()).hooked is any(callbacks)
    assert plan(agent, chains(hooks={"after_model_callback": ((), ())})).hooked
    agent.after_model_callback = nothing
    assert plan(agent, chains()).hooked
