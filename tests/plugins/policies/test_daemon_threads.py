"""DaemonThreads: calls in a bounded number of threads, which let a process end."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import wait

import pytest

from newel.policies.daemon_threads import DaemonThreads

STUCK = """
import asyncio, time
from newel import Agent, run
from newel.testing import ScriptedModel
from newel.types import FunctionCall, Part

def stuck() -> str:
    time.sleep(3600)

model = ScriptedModel([Part(function_call=FunctionCall(name="stuck")), "done"])
print(run(Agent(name="a", tools=[stuck], model=model), "go", distribution="d.yaml"))
"""


def test_results_errors_and_the_bound() -> None:
    threads = DaemonThreads(2, "t")
    gate = threading.Event()
    seen: set[str] = set()

    def work(number: int) -> int:
        seen.add(threading.current_thread().name)
        gate.wait(60)
        if number == 3:
            raise ValueError("three")
        return number * 2

    futures = [threads.submit(work, number) for number in range(6)]
    gate.set()
    wait(futures, 60)
    assert [f.result(0) for f in futures if f.exception(0) is None] == [0, 2, 4, 8, 10]
    with pytest.raises(ValueError, match="three"):
        futures[3].result(0)
    assert seen <= {"t_0", "t_1"}


def test_a_cancelled_call_is_not_made() -> None:
    threads = DaemonThreads(1, "t")
    gate, made = threading.Event(), []
    first = threads.submit(gate.wait, 60)
    second = threads.submit(made.append, 1)
    assert second.cancel()
    gate.set()
    assert first.result(60)
    assert threads.submit(len, made).result(60) == 0


def test_an_idle_thread_is_used_again() -> None:
    threads = DaemonThreads(8, "t")
    names = {threads.submit(lambda: threading.current_thread().name).result(60) for _ in range(3)}
    assert "t_0" in names
    assert len(names) <= 3


def test_threads_end_with_the_executor() -> None:
    threads = DaemonThreads(2, "t")
    (thread,) = {threads.submit(threading.current_thread).result(60)}
    threads.shutdown()
    thread.join(60)
    assert not thread.is_alive()


def test_a_script_ends_although_a_tool_never_returns(tmp_path: object) -> None:
    folder = str(tmp_path)
    with open(f"{folder}/d.yaml", "w") as file:
        file.write("name: d\nextends: standard\nsettings: {tool_timeout: {seconds: 0.2}}\n")
    done = subprocess.run([sys.executable, "-c", STUCK], cwd=folder, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr
