"""Cycles of graphs and loops of agents have an end, and what chose no way says so."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import pytest

import newel
from newel import Runner
from newel.agents import BaseAgent, LoopAgent
from newel.sessions import InMemorySessionService
from newel.turns.steps import StepLimitError
from newel.workflow import RetryConfig, Workflow, node
from newel_compose import compose, compose_once
from newel_kernel import Event, NewelError


def collect(agent: Any, **options: Any) -> tuple[list[Event], Exception | None]:
    """The events of one invocation, and what it raised."""

    async def run() -> tuple[list[Event], Exception | None]:
        events: list[Event] = []
        async with Runner(
            agent=agent, app_name="a", session_service=InMemorySessionService(), auto_create_session=True, **options
        ) as runner:
            try:
                async for event in runner.run_async(user_id="u", session_id="s", new_message="go"):
                    events.append(event)
            except StepLimitError as error:
                session = await runner.session_service.get_session(
                    app_name=runner.app_name, user_id="u", session_id="s"
                )
                assert session is not None
                return list(session.events), error
        return events, None

    return asyncio.run(run())


def limited(steps: int | None, base: str = "standard") -> Any:
    chosen = compose_once(base).distribution
    turns = {**chosen.settings["turns"], "max_steps": steps}
    return compose(chosen.model_copy(update={"settings": {**chosen.settings, "turns": turns}}))


def cycle(ran: list[str], names: str, last: int | None = None) -> Workflow:
    """Nodes that follow each other, the last one the first again."""

    def step(name: str) -> Any:
        def run(ctx: Any) -> str:
            ran.append(name)
            if name == names[-1] and len(ran) != last:
                ctx.route = "again"
            return name

        return node(run, name=name)

    nodes = [step(name) for name in names]
    return Workflow(name="w", edges=[("START", *nodes, {"again": nodes[0]})])


@pytest.mark.parametrize("seed", range(12))
def test_a_cycle_ends_at_the_limit_and_one_event_names_the_edge(seed: int) -> None:
    random = Random(seed)
    names, limit = "abcdefg"[: random.randint(1, 7)], random.randint(1, 60)
    ran: list[str] = []
    events, error = collect(cycle(ran, names), composition=limited(limit))
    assert len(ran) == max(limit, len(names))
    told = [event for event in events if event.error_code]
    assert [event.error_code for event in told] == ["StepLimitError"]
    if limit % len(names) == 0:
        assert f"the edge {names[-1]} -> {names[0]} of the graph 'w'" in (told[0].error_message or "")
    assert str(error) == told[0].error_message
    assert len([event for event in events if event.output is not None]) == len(ran)  # nothing that was done is lost


def test_the_default_is_500_and_adk_has_none() -> None:
    ran: list[str] = []
    _, error = collect(cycle(ran, "ab"))
    assert (len(ran), type(error)) == (500, StepLimitError)
    ran.clear()
    _, error = collect(cycle(ran, "ab", last=700), distribution="adk")
    assert (len(ran), error) == (700, None)
    ran.clear()
    _, error = collect(cycle(ran, "ab", last=700), composition=limited(None))
    assert (len(ran), error) == (700, None)


def test_a_cycle_around_a_cycle_shares_the_steps() -> None:
    ran: list[str] = []
    inner = cycle(ran, "ab", last=None)

    def outer(ctx: Any) -> None:
        ctx.route = "again"

    first = node(outer, name="outer")
    graph = Workflow(name="o", edges=[("START", first, {"again": inner}), (inner, first)])
    _, error = collect(graph, composition=limited(20))
    assert error is not None
    assert len(ran) <= 20


def test_a_graph_without_a_cycle_has_no_limit() -> None:
    ran: list[int] = []

    def step(number: int) -> Any:
        return node(lambda: ran.append(number), name=f"n{number}")

    graph = Workflow(name="w", edges=[("START", *[step(number) for number in range(60)])])
    _, error = collect(graph, composition=limited(10))
    assert (len(ran), error) == (60, None)


def test_a_graph_that_is_to_be_retried_is_not_at_its_limit() -> None:
    ran: list[str] = []
    graph = cycle(ran, "ab")
    graph.retry_config = RetryConfig(max_attempts=3, initial_delay=0)
    events, error = collect(graph, composition=limited(10))
    assert len(ran) == 10
    assert sum(bool(event.error_code) for event in events) == 1
    assert error is not None


class Step(BaseAgent):
    ran: int = 0

    async def _run_async_impl(self, ctx: Any) -> Any:
        self.ran += 1
        yield Event(author=self.name, invocation_id=ctx.invocation_id, message="step")


@pytest.mark.parametrize("base", ["standard", "adk"])
def test_a_loop_without_a_bound_ends_at_the_limit(base: str) -> None:
    one, two = Step(name="one"), Step(name="two")
    loop = LoopAgent(name="loop", sub_agents=[one, two])
    events, error = collect(loop, composition=limited(10, base))
    assert (one.ran, two.ran) == (5, 5)
    told = [event for event in events if event.error_code]
    assert [event.error_message for event in told] == [str(error)]
    assert "the loop 'loop' has turned 5 times" in str(error)


def test_a_loop_with_a_bound_keeps_to_that() -> None:
    step = Step(name="one")
    _, error = collect(LoopAgent(name="loop", sub_agents=[step], max_iterations=20), composition=limited(10))
    assert (step.ran, error) == (20, None)


# --- routes ---------------------------------------------------------------------------------------------------------


def choosing(route: Any, *routes: Any) -> Workflow:
    def choose(ctx: Any) -> str:
        ctx.route = route
        return "chosen"

    first = node(choose, name="choose")
    targets = {one: node(lambda: "done", name=f"t{index}") for index, one in enumerate(routes)}
    return Workflow(name="w", edges=[("START", first, targets)])


@pytest.mark.parametrize(
    ("route", "routes", "told"),
    [
        ("x", ("y",), True),
        ("x", ("y", "z"), True),
        (["x", "w"], ("y",), True),
        (3, (1, 2), True),
        (True, (False,), True),
        ("x", ("x",), False),
        (["x", "y"], ("y",), False),
        (False, (True,), False),  # an `if` without an `else`
        (None, ("y",), False),
        ("x", ("y", "__DEFAULT__"), False),
    ],
)
def test_a_route_that_no_edge_has_is_told(route: Any, routes: tuple[Any, ...], told: bool) -> None:
    events, _ = collect(choosing(route, *routes))
    messages = [event.error_message for event in events if event.error_code == "UNMATCHED_ROUTE"]
    assert len(messages) == told
    if told:
        assert all(repr(one) in str(messages) for one in routes)
        assert "'choose'" in str(messages)
    assert not any(event.error_code for event in collect(choosing(route, *routes), distribution="adk")[0])


def test_run_raises_instead_of_an_empty_answer() -> None:
    with pytest.raises(NewelError, match=r"chose the route 'x', which no edge"):
        newel.run(choosing("x", "y"), "go")
