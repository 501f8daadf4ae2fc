"""PerLoop: each event loop has its own object, whatever the order in which loops begin, end and fork."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newel.connections import PerLoop


class Thing:
    """An object that keeps its loop alive, as a transport does, and notes where it was closed."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.closed: list[asyncio.AbstractEventLoop] = []

    async def close(self) -> None:
        await asyncio.sleep(0)
        self.closed.append(asyncio.get_running_loop())


async def got(things: PerLoop[Thing]) -> Thing:
    return things.get()


def test_a_loop_has_one_object_and_closes_it_when_it_ends() -> None:
    things = PerLoop(Thing, Thing.close)

    async def main() -> Thing:
        thing = things.get()
        assert (things.peek(), things.get(), len(things)) == (thing, thing, 1)
        return thing

    first, second = asyncio.run(main()), asyncio.run(main())
    assert first is not second
    assert [thing.closed for thing in (first, second)] == [[first.loop], [second.loop]]
    assert len(things) == 0


def test_after_close_there_is_another_one() -> None:
    things = PerLoop(Thing, Thing.close)

    async def main() -> None:
        first = things.get()
        await things.close()
        assert (first.closed, things.peek()) == ([first.loop], None)
        await things.close()
        assert things.get() is not first
        assert first.closed == [first.loop]

    asyncio.run(main())


def test_without_close_an_object_is_only_dropped() -> None:
    things = PerLoop(Thing)

    async def main() -> weakref.ref[Thing]:
        return weakref.ref(things.get())

    thing = asyncio.run(main())
    asyncio.run(main())
    gc.collect()
    assert (thing(), len(things)) == (None, 1)


def test_the_objects_of_ten_thousand_loops_do_not_stay() -> None:
    """Neither do the loops, which the objects keep alive."""
    closing, dropping = PerLoop(Thing, Thing.close), PerLoop(Thing)
    alive: weakref.WeakSet[Any] = weakref.WeakSet()
    most = 0

    async def use() -> None:
        alive.update((asyncio.get_running_loop(), closing.get(), dropping.get()))

    for number in range(10_000):
        loop = asyncio.new_event_loop()
        loop.run_until_complete(use())
        if number % 2:  # else the loop is closed without a word to its generators
            loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
        del loop
        most = max(most, len(closing), len(dropping))
        if number % 1000 == 0:
            gc.collect()
            assert len(alive) <= 6
    assert most == 1


def test_a_loop_that_nobody_closed_takes_its_object_along() -> None:
    things: PerLoop[object] = PerLoop(object)

    class Silent(asyncio.SelectorEventLoop):
        def __del__(self) -> None:  # without a warning that it was not closed
            self.close()

    async def use() -> None:
        things.get()

    def run() -> None:
        Silent().run_until_complete(use())

    run()
    gc.collect()
    assert len(things) == 0


def test_a_per_loop_that_goes_closes_its_objects() -> None:
    async def main() -> None:
        things = PerLoop(Thing, Thing.close)
        thing = things.get()
        del things
        for _ in range(5):
            await asyncio.sleep(0)
        assert thing.closed == [thing.loop]

    asyncio.run(main())


def test_closing_has_an_end() -> None:
    class Stubborn(Thing):
        async def close(self) -> None:
            await asyncio.sleep(60)

    things = PerLoop(Stubborn, Stubborn.close, patience=0.02)

    async def main() -> None:
        things.get()
        with pytest.raises(TimeoutError, match=r"a Stubborn did not close within 0\.02 seconds"):
            await things.close()

    asyncio.run(main())


def test_what_fails_to_be_made_is_made_the_next_time() -> None:
    answers: list[Any] = [ValueError("no"), 7]

    def make() -> int:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return int(answer)

    things = PerLoop(make)

    async def main() -> None:
        with pytest.raises(ValueError, match="no"):
            things.get()
        assert things.get() == 7

    asyncio.run(main())


#: What happens in one of three threads, each of which has a loop or none.
_STEPS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(["open", "get", "get", "close", "end", "drop"])), max_size=40
)


@settings(deadline=None)
@given(_STEPS)
def test_loops_in_threads_in_any_order(steps: list[tuple[int, str]]) -> None:
    """A loop keeps its object until it is closed or ends; no two loops see the same one, and each is closed once."""
    model = _Model()
    try:
        for number, step in steps:
            model.step(number, step)
            assert len(model.things) <= len(model.expected) + len(model.dropped)
    finally:
        model.end()
    for thing in model.made:
        assert thing.closed == ([] if thing in model.dropped else [thing.loop])


class _Model:
    """Three threads with at most one loop each, and what each loop's object must be."""

    def __init__(self) -> None:
        self.things = PerLoop(Thing, Thing.close)
        self.workers = [_Worker() for _ in range(3)]
        self.loops: list[asyncio.AbstractEventLoop | None] = [None] * 3
        self.expected: dict[asyncio.AbstractEventLoop, Thing] = {}
        self.made: list[Thing] = []
        #: The objects of loops that were closed without a word to their generators.
        self.dropped: list[Thing] = []

    def step(self, number: int, step: str) -> None:
        worker, loop = self.workers[number], self.loops[number]
        if loop is None:
            if step == "open":
                self.loops[number] = worker.do(asyncio.new_event_loop)
        elif step == "get":
            thing = worker.do(lambda: loop.run_until_complete(got(self.things)))
            if loop not in self.expected:
                assert thing not in self.made
                self.made.append(thing)
            assert self.expected.setdefault(loop, thing) is thing
            assert (thing.loop, thing.closed) == (loop, [])
        elif step == "close":
            worker.do(lambda: loop.run_until_complete(self.things.close()))
            self.expected.pop(loop, None)
        elif step in ("end", "drop"):
            self.leave(number, loop, step)

    def leave(self, number: int, loop: asyncio.AbstractEventLoop, step: str) -> None:
        thing = self.expected.pop(loop, None)
        if step == "end":
            self.workers[number].do(lambda: loop.run_until_complete(loop.shutdown_asyncgens()))
        elif thing is not None:
            self.dropped.append(thing)
        self.workers[number].do(loop.close)
        self.loops[number] = None

    def end(self) -> None:
        for number, loop in enumerate(self.loops):
            if loop is not None:
                self.leave(number, loop, "end")
            self.workers[number].end()


class _Worker:
    """A thread that does one thing after another."""

    def __init__(self) -> None:
        self._work: Callable[[], Any] | None = None
        self._result: Any = None
        self._ready, self._done = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def do(self, work: Callable[[], Any]) -> Any:
        self._work = work
        self._ready.release()
        self._done.acquire()
        if isinstance(self._result, BaseException):
            raise self._result
        return self._result

    def end(self) -> None:
        self._work = None
        self._ready.release()
        self._thread.join()

    def _run(self) -> None:
        while self._ready.acquire() and self._work is not None:
            try:
                self._result = self._work()
            except BaseException as error:  # it is raised in the thread that asked
                self._result = error
            self._done.release()


def test_many_threads_at_once() -> None:
    things = PerLoop(Thing, Thing.close)
    found: list[Thing] = []

    async def use() -> None:
        thing = things.get()
        for _ in range(20):
            await asyncio.sleep(0)
            assert things.get() is thing
        found.append(thing)

    def work() -> None:
        for _ in range(20):
            asyncio.run(use())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(thing) for thing in found}) == 160
    assert all(thing.closed == [thing.loop] for thing in found)
    assert len(things) == 0


#: Forks while a thread's loop, and one of its own that is between two runs, have objects.
_FORK = """
import asyncio, gc, os, sys, threading, warnings
warnings.simplefilter("error")
from newel.connections import PerLoop

class Thing:
    def __init__(self):
        self.pid, self.closed = os.getpid(), 0
    async def close(self):
        self.closed += 1
    def __del__(self):
        if self.pid != os.getpid() and not self.closed:
            os.write(1, b"a child freed its parent's object")

things = PerLoop(Thing, Thing.close)
begun, over = threading.Event(), threading.Event()

async def wait():
    things.get()
    begun.set()
    while not over.is_set():
        await asyncio.sleep(0.001)
    assert things.peek().closed == 0

async def get():
    return things.get()

where = sys.argv[1]
thread = threading.Thread(target=asyncio.run, args=(wait(),))
thread.start()
begun.wait()
runner = asyncio.Runner()
mine = runner.run(get())

def child():
    assert len(things) == 0
    own = asyncio.run(get())
    assert own is not mine and own.pid == os.getpid() and own.closed == 1
    if where == "ends its parent's loop":
        runner.close()
        assert mine.closed == 0
    if where == "forks again":
        pid = os.fork()
        if pid == 0:
            again = asyncio.run(get())
            assert again is not own and again.closed == 1
        else:
            assert os.waitpid(pid, 0)[1] == 0
    gc.collect()

async def fork():
    return os.fork()

pid = runner.run(fork()) if where == "in a coroutine" else os.fork()
if pid == 0:
    code = 1
    try:
        child()
        code = 0
    finally:
        os._exit(code)
assert os.waitpid(pid, 0)[1] == 0
assert runner.run(get()) is mine and mine.closed == 0
over.set()
thread.join()
runner.close()
assert mine.closed == 1 and len(things) == 0
print("well")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("where", ["between two runs", "ends its parent's loop", "forks again"])
def test_a_forked_child_has_its_own_and_leaves_its_parents_alone(where: str) -> None:
    done = subprocess.run([sys.executable, "-c", _FORK, where], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "well\n"), done.stderr


def test_a_loop_that_does_not_say_whether_it_is_closed_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such is the loop of a workflow of Temporal."""

    def silent() -> bool:
        raise NotImplementedError

    async def get() -> Thing:
        return things.get()

    things = PerLoop(Thing)
    with asyncio.Runner() as first, asyncio.Runner() as second:
        thing = first.run(get())
        with monkeypatch.context() as patch:
            patch.setattr(first.get_loop(), "is_closed", silent)
            assert second.run(get()) is not thing
            assert thing in things.objects()
