"""The seam: time, ids and tasks come from one place, so a run replays; a forked process has ids of its own."""

from __future__ import annotations

import asyncio
import os
import re
import threading
import uuid
from pathlib import Path
from typing import Any

import pytest

import newel_kernel
from newel.agents import LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from newel.testing import ScriptedModel
from newel_kernel import Context, Event, Session, seam


def test_an_id_is_a_random_uuid() -> None:
    ids = [seam.new_id() for _ in range(1000)]
    assert len(set(ids)) == 1000
    for one in ids[:100]:
        parsed = uuid.UUID(one)
        assert str(parsed) == one
        assert (parsed.version, parsed.variant) == (4, uuid.RFC_4122)


def test_threads_get_different_ids() -> None:
    found: list[str] = []

    def take() -> None:
        found.extend(seam.new_id() for _ in range(500))

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == len(found) == 4000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform does not fork")
def test_a_forked_process_has_ids_of_its_own() -> None:
    seam.new_id()  # some are held ready now
    children = []
    for _ in range(2):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writer, "\n".join(seam.new_id() for _ in range(100)).encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            children.append(pipe.read().split("\n"))
        os.waitpid(child, 0)
    ids = [*children[0], *children[1], *(seam.new_id() for _ in range(100))]
    assert len(ids) == len(set(ids)) == 300


def tree(call: Any) -> SequentialAgent:
    """Every source of ids and times: calls, results, parallel branches, loops, a transfer."""

    async def brew(leaf: str, tool_context: Context) -> str:
        tool_context.state[leaf] = True
        return leaf

    def agent(name: str, *steps: Any, **fields: Any) -> LlmAgent:
        return LlmAgent(name=name, model=ScriptedModel(steps), **fields)

    both = [call("brew", leaf="a"), call("brew", leaf="b")]
    host = agent("host", call("transfer_to_agent", agent_name="cook"), sub_agents=[agent("cook", "soup")])
    parallel = ParallelAgent(name="par", sub_agents=[agent(f"p{n}", both, f"p{n}", tools=[brew]) for n in range(3)])
    loop = LoopAgent(name="loop", max_iterations=2, sub_agents=[agent("l", "one", "two")])
    return SequentialAgent(name="root", sub_agents=[host, parallel, loop])


def replayed(talk: Any, call: Any) -> tuple[list[Event], Session]:
    with pytest.MonkeyPatch.context() as patch:
        numbers = iter(range(10_000))
        patch.setattr(seam, "new_id", lambda: f"id-{next(numbers)}")
        patch.setattr(seam, "clock", lambda: 1000.0 + next(numbers))
        conversation = talk(tree(call))
        return conversation.say("go"), conversation.session


def test_a_run_replays_to_the_last_byte(talk: Any, call: Any) -> None:
    events, session = replayed(talk, call)
    again, session_again = replayed(talk, call)
    assert [e.model_dump_json() for e in again] == [e.model_dump_json() for e in events]
    assert session_again.model_dump_json() == session.model_dump_json()
    assert len(events) == 3 + 3 * 3 + 2
    assert all(re.fullmatch(r"id-\d+", event.id) for event in events)
    assert all(event.invocation_id.startswith("e-id-") for event in events)
    assert all(str(call.id).startswith("adk-id-") for event in events for call in event.get_function_calls())


def test_tasks_are_started_through_the_seam(talk: Any, call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []

    def spawn(coroutine: Any, *, name: str | None = None) -> asyncio.Task[Any]:
        started.append(coroutine.__qualname__)
        return asyncio.get_running_loop().create_task(coroutine, name=name)

    monkeypatch.setattr(seam, "spawn", spawn)
    talk(tree(call)).say("go")
    assert len(started) == 3 + 3 * 2  # the parallel agents, and the two calls of each


def test_nothing_in_the_kernel_goes_past_it() -> None:
    ways = (
        r"time\.time\(",
        r"datetime\.now",
        "uuid4",
        r"create_task\(",
        r"ensure_future\(",
        r"TaskGroup\(",
        r"from newel_kernel\.seam import",
    )
    past = re.compile("|".join(ways))
    folder = Path(newel_kernel.__file__).parent
    found = [
        f"{path.relative_to(folder)}: {line.strip()}"
        for path in sorted(folder.rglob("*.py"))
        if path.name != "seam.py"
        for line in path.read_text().splitlines()
        if past.search(line)
    ]
    assert found == []
