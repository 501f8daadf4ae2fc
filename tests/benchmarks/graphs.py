"""What a graph costs per node, above calling the nodes' functions without one.

``python graphs.py [NODES ...]`` (default 1000 and 4000) prints a line per case: CPU microseconds and memory per
node. The first line is the floor's `turn_tool`, by which figures of different machines can be compared.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("NEWEL_DISTRIBUTION", "adk")

ROUNDS = 7


def functions(nodes: int, waits: bool) -> list[Callable[[Any], Any]]:
    """Different functions, so that each is a node of its own."""

    def make(index: int) -> Callable[[Any], Any]:
        def step(node_input: Any) -> int:
            return index

        async def step_that_waits(node_input: Any) -> int:
            return index

        made = step_that_waits if waits else step
        made.__name__ = f"step{index}"
        return made

    return [make(index) for index in range(nodes)]


def graph(shape: str, steps: list[Any]) -> Any:
    from newel.workflow import JoinNode, Workflow

    edges = [("START", *steps)] if shape == "chain" else [("START", tuple(steps), JoinNode(name="join"))]
    return Workflow(name="graph", edges=edges)


async def cost(shape: str, nodes: int, waits: bool) -> dict[str, Any]:
    """The median of several runs, each in a session of its own."""
    from newel.runners import InMemoryRunner

    steps = functions(nodes, waits)
    runner = InMemoryRunner(graph(shape, steps))

    async def run(session: str) -> None:
        async for _ in runner.run_async(user_id="u", session_id=session, new_message="go"):
            pass

    async def bare() -> None:
        for step in steps:
            made = step(None)
            if waits:
                await made

    spent = []
    for index in range(ROUNDS + 1):
        start = time.process_time()
        await bare()
        called = time.process_time()
        await run(f"s{index}")
        spent.append((time.process_time() - called) - (called - start))
    tracemalloc.start()
    await run("memory")
    kept = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {
        "case": shape + ("_async" if waits else ""),
        "nodes": nodes,
        "us_per_node": round(statistics.median(spent[1:]) / nodes * 1e6, 1),
        "bytes_per_node": kept // nodes,
    }


def main() -> None:
    floor = Path(__file__).with_name("floor.py")
    command = [sys.executable, str(floor), "turn_tool"]
    print(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
    for nodes in [int(given) for given in sys.argv[1:]] or [1000, 4000]:
        for shape in ("chain", "fan_out"):
            for waits in (False, True):
                print(json.dumps(asyncio.run(cost(shape, nodes, waits))))


if __name__ == "__main__":
    main()
