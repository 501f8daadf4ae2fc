"""tool_threads: synchronous tools run in threads of a bounded pool, and nothing else changes for them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from newel.policies import thread_pool
from newel.tools import ToolContext
from newel_kernel import ConfigurationError

guest: ContextVar[str] = ContextVar("guest", default="nobody")


class Where:
    """Tools that note the threads in which they run."""

    def __init__(self) -> None:
        self.threads: list[str] = []
        self.gate = threading.Barrier(2, timeout=60)

    def chop(self) -> str:
        """Chops."""
        self.threads.append(threading.current_thread().name)
        return guest.get()

    async def stir(self) -> str:
        """Stirs."""
        self.threads.append(threading.current_thread().name)
        return guest.get()

    def meet(self) -> str:
        """Waits for the other call of it."""
        self.gate.wait()
        return "met"

    def hide(self) -> Any:
        """A function that is only found to be asynchronous when it is called."""
        return self.stir()


def test_a_synchronous_tool_runs_in_a_thread_of_the_pool(ask: Any, call: Any) -> None:
    where = Where()
    guest.set("ada")
    outcome = ask([call("chop"), call("stir")], tools=[where.chop, where.stir])
    assert outcome.results == [{"result": "ada"}, {"result": "ada"}]
    stirred, chopped = sorted(where.threads)
    assert stirred == threading.current_thread().name
    assert chopped.startswith("newel-tool")


@pytest.mark.parametrize("choice", [{"without": ["tool_threads"]}, {"base": "adk"}], ids=["without", "adk"])
def test_without_the_policy_it_runs_where_the_loop_does(ask: Any, call: Any, choice: Any) -> None:
    where = Where()
    ask([call("chop")], tools=[where.chop], **choice)
    assert where.threads == [threading.current_thread().name]


def test_calls_of_one_response_run_side_by_side(ask: Any, call: Any) -> None:
    outcome = ask([call("meet"), call("meet")], tools=[Where().meet])
    assert outcome.results == [{"result": "met"}] * 2


def test_the_pool_is_bounded(ask: Any, call: Any) -> None:
    where = Where()
    settings = "settings: {tool_threads: {max_workers: 1, in_place_after: 0}}"
    outcome = ask([call("chop")] * 20, tools=[where.chop], settings=settings)
    assert len(outcome.results) == 20
    assert len(set(where.threads)) == 1
    with pytest.raises(ConfigurationError, match="tool_threads"):
        ask([call("chop")], settings="settings: {tool_threads: {max_workers: 0}}")


def test_a_thread_that_was_given_up_keeps_nobody_waiting(ask: Any, call: Any) -> None:
    where = Where()
    enough = threading.Event()

    def simmer() -> None:
        """Simmers."""
        enough.wait(60)

    settings = "settings: {tool_threads: {max_workers: 1, in_place_after: 0}, tool_timeout: {tools: {simmer: 0.05}}}"
    try:
        outcome = ask([call("simmer")], [call("chop")], tools=[simmer, where.chop], settings=settings)
    finally:
        enough.set()
    first, second = outcome.results
    assert "did not answer within" in str(first)
    assert list(second) == ["result"]


@dataclass
class Knife:
    """A callable that cannot be hashed."""

    __name__ = "cut"
    sharp: bool = True

    def __call__(self) -> str:
        """Cuts."""
        return threading.current_thread().name


class Slotted(Callable):  # type: ignore[misc] # an ABC
    """A callable that cannot be referred to weakly."""

    __slots__ = ()
    __name__ = "cut"

    def __call__(self) -> str:
        """Cuts."""
        return threading.current_thread().name


@pytest.mark.parametrize("tool", [Knife(), Slotted()], ids=["unhashable", "no weak references"])
def test_callable_objects(ask: Any, call: Any, tool: Any) -> None:
    assert ask([call("cut")], tools=[tool]).result["result"].startswith("newel-tool")


def in_turn(call: Any, times: int) -> Any:
    """A model's answer after each of so many calls of `chop`."""
    return [[call("chop")] for _ in range(times - 1)]


def test_a_function_that_is_always_quick_comes_to_run_in_place(ask: Any, call: Any) -> None:
    where = Where()
    settings = "settings: {tool_threads: {quick: 30, in_place_after: 2}}"
    ask([call("chop")], *in_turn(call, 4), tools=[where.chop], settings=settings)
    here = threading.current_thread().name
    assert [name == here for name in where.threads] == [False, False, True, True]


def test_calls_that_wait_for_a_thread_need_none_once_the_function_is_known_to_be_quick(ask: Any, call: Any) -> None:
    where = Where()
    settings = "settings: {tool_threads: {quick: 30, in_place_after: 2, max_workers: 1}}"
    outcome = ask([call("chop")] * 9, tools=[where.chop], settings=settings)
    assert outcome.results == [{"result": guest.get()}] * 9
    here = threading.current_thread().name
    assert [name == here for name in where.threads] == [False] * 2 + [True] * 7


@pytest.mark.parametrize(
    ("seconds", "later"),
    [(0.3, [*[False] * 8, *[True] * 26]), (11, [*[False] * 32, *[True] * 2])],
    ids=["a delay: once it is quick four times as often", "a stall: sixteen times"],
)
def test_a_function_that_was_slow_in_place_goes_back_to_the_threads(
    ask: Any, call: Any, monkeypatch: pytest.MonkeyPatch, seconds: float, later: list[bool]
) -> None:
    threads: list[str] = []
    now = 0.0
    monkeypatch.setattr(thread_pool, "time", SimpleNamespace(perf_counter=lambda: now))
    monkeypatch.setattr(thread_pool, "gc", SimpleNamespace(get_count=lambda: (0, 0, 0)))

    def chop() -> None:
        """Chops; the third time it takes long."""
        nonlocal now
        threads.append(threading.current_thread().name)
        now += seconds if len(threads) == 3 else 0

    settings = "settings: {tool_threads: {quick: 0.2, in_place_after: 2}}"
    ask([call("chop")], *in_turn(call, 37), tools=[chop], settings=settings)
    here = threading.current_thread().name
    assert [name == here for name in threads] == [False, False, True, *later]


def test_after_long_trust_a_slow_function_needs_fewer_quick_calls_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(thread_pool, "time", SimpleNamespace(perf_counter=lambda: now))
    monkeypatch.setattr(thread_pool, "gc", SimpleNamespace(get_count=lambda: (0, 0, 0)))
    slow: list[int] = [3, 3 + 8 + 65]
    threads: list[bool] = []

    def chop() -> None:
        nonlocal now
        threads.append(threading.current_thread() is not threading.main_thread())
        now += 0.3 if len(threads) in slow else 0

    async def main() -> None:
        pool = thread_pool.Pool(in_place_after=2, quick=0.2)
        for _ in range(slow[1] + 10):
            if (outcome := pool.call(chop, {})) is not None:
                await outcome  # type: ignore[misc]

    asyncio.run(main())
    # Two quick calls; a delay, so eight in threads; 65 in place, so that two are enough; a delay, so eight in threads.
    assert threads == [True] * 2 + [False] + [True] * 8 + [False] * 65 + [True] * 8 + [False] * 2


@pytest.mark.parametrize(
    ("before", "after", "stays"),
    [
        ((650, 3, 2), (7, 4, 2), True),
        ((650, 10, 2), (7, 0, 3), True),
        ((650, 10, 9), (7, 0, 0), True),
        ((650, 3, 2), (7, 5, 2), False),
        ((650, 10, 2), (7, 1, 3), False),
        ((600, 3, 2), (650, 3, 2), False),
        ((600, 0, 0), (650, 0, 0), False),
    ],
    ids=["young", "middle", "all", "young, twice", "middle, then young", "none", "none, after a collection of all"],
)
def test_what_the_garbage_collector_takes_once_is_not_the_functions_time(
    monkeypatch: pytest.MonkeyPatch, before: tuple[int, int, int], after: tuple[int, int, int], stays: bool
) -> None:
    now, counts = 0.0, before
    threads: list[bool] = []
    monkeypatch.setattr(thread_pool, "time", SimpleNamespace(perf_counter=lambda: now))
    monkeypatch.setattr(thread_pool, "gc", SimpleNamespace(get_count=lambda: counts))

    def chop() -> None:
        nonlocal now, counts
        threads.append(threading.current_thread() is not threading.main_thread())
        if len(threads) == 3:
            now, counts = now + 11, after

    async def main() -> None:
        pool = thread_pool.Pool(in_place_after=2, quick=0.2)
        for _ in range(4):
            if (outcome := pool.call(chop, {})) is not None:
                await outcome  # type: ignore[misc]

    asyncio.run(main())
    assert threads == [True, True, False, not stays]


def test_a_tool_writes_state_and_actions_from_its_thread(ask: Any, call: Any) -> None:
    def note(dish: str, tool_context: ToolContext) -> str:
        """Notes."""
        tool_context.state["dish"] = dish
        tool_context.actions.skip_summarization = True
        return "noted"

    outcome = ask([call("note", dish="soup"), call("note", dish="soup")], tools=[note])
    assert outcome.session.state == {"dish": "soup"}
    assert outcome.events[-1].actions.skip_summarization


def test_what_a_function_returns_is_awaited_in_the_loop(ask: Any, call: Any) -> None:
    where = Where()
    assert ask([call("hide")], tools=[where.hide]).result == {"result": guest.get()}
    assert where.threads == [threading.current_thread().name]


@pytest.mark.parametrize("choice", [{}, {"without": ["tool_threads"]}], ids=["threads", "without"])
def test_a_stop_iteration_is_an_error_like_any(ask: Any, call: Any, choice: Any) -> None:
    def first() -> str:
        """The first of none."""
        return next(iter(()))

    outcome = ask([call("first")], tools=[first], **choice)
    assert outcome.result == {"error": "RuntimeError: coroutine raised StopIteration"}
    assert outcome.said == "done"
