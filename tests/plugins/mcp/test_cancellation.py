"""Runs that are cancelled at random points leave nothing behind, do nothing twice, and the next run works.

NEWEL_MCP_CANCELLATIONS sets how many there are.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from newel.agents import LlmAgent
from newel.models.scripted import ScriptedModel
from newel.runners import InMemoryRunner
from newel_types import Content, FunctionCall, Part

COUNT = int(os.environ.get("NEWEL_MCP_CANCELLATIONS", "60"))
#: How many runs at once.
ABREAST = 4
_NOISE = ("cancel scope", "never retrieved", "never awaited", "was destroyed", "different task")


class Storm:
    """Runs of an agent with three toolsets, each cancelled after a random time."""

    def __init__(self, tools: list[Any], seed: int) -> None:
        self.tools = tools
        self.random = random.Random(seed)
        self.keys = 0
        self.ended = Counter[str]()

    def calls(self) -> list[FunctionCall]:
        made = []
        for prefix in self.random.sample(["a", "b"], self.random.randint(1, 2)):
            self.keys += 1
            name, args = self.random.choice(
                [
                    ("echo", {"text": "x"}),
                    ("effect", {"key": f"k{self.keys}"}),
                    ("slow", {"seconds": 0.3, "key": f"k{self.keys}"}),
                ]
            )
            made.append(FunctionCall(name=f"{prefix}_{name}", args=args))
        if self.random.random() < 0.3:
            made.append(FunctionCall(name="c_echo", args={"text": "x"}))
        return made

    async def run(self) -> list[Any]:
        model = ScriptedModel([self.calls(), self.calls(), "end"])
        runner = InMemoryRunner(agent=LlmAgent(name="root", model=model, tools=self.tools), app_name="app")
        session = await runner.session_service.create_session(app_name="app", user_id="u")
        message = Content(role="user", parts=[Part(text="go")])
        return [e async for e in runner.run_async(user_id="u", session_id=session.id, new_message=message)]

    async def one(self) -> None:
        task = asyncio.create_task(self.run())
        await asyncio.sleep(self.random.choice([0.0, 0.001, 0.01, 0.05, 0.3]) * self.random.random() * 2)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait_for(asyncio.shield(task), 5)
        self.ended["cancelled" if task.cancelled() else "failed" if task.exception() else "done"] += 1
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error

    async def rage(self, count: int) -> None:
        while count > 0:
            await asyncio.gather(*(self.one() for _ in range(min(ABREAST, count))))
            count -= ABREAST


def sockets() -> int:
    """The open sockets and pipes of this process."""
    gc.collect()
    found = 0
    for entry in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            found += os.readlink(f"/proc/self/fd/{entry}").startswith(("socket:", "pipe:"))
    return found


@pytest.mark.parametrize("over", ["stdio", "http"])
def test_cancelled_runs_leave_nothing(
    over: str,
    stdio: Callable[..., Any],
    site: Callable[..., Any],
    http: Callable[..., Any],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    marks = [tmp_path / "a", tmp_path / "b"]
    for mark in marks:
        mark.touch()
    served = [site("--marks", str(mark)) for mark in marks] if over == "http" else []
    problems: list[Any] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context))
        if served:
            good = [http(one, tool_name_prefix=prefix) for one, prefix in zip(served, "ab", strict=True)]
        else:
            good = [stdio("good", "--marks", str(m), tool_name_prefix=p) for m, p in zip(marks, "ab", strict=True)]
        tools = [*good, stdio("raw", "crash", tool_name_prefix="c")]
        storm = Storm(tools, seed=COUNT)
        await storm.rage(COUNT)
        events = await storm.run()
        assert events[-1].content.parts[0].text == "end"
        for one in tools:
            await one.close()
        assert storm.ended["cancelled"] > COUNT / 4
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, left

    before = sockets()
    with caplog.at_level(logging.WARNING):
        asyncio.run(main())
    assert sockets() <= before
    assert not problems
    assert not [record for record in caplog.records if any(word in record.getMessage() for word in _NOISE)]
    for mark in marks:
        counts = Counter(mark.read_text().split("\n"))
        assert not [line for line, count in counts.items() if line and count > 1]
        begun = {line.split()[1] for line in counts if line.startswith("begins")}
        ended = {line.split()[1] for line in counts if line.startswith(("ends", "cancelled"))}
        assert begun == ended, "the server was not told of a cancellation"
