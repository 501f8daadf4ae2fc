"""An approved call that must not happen twice: what other processes know of whether it has begun."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from kinds import CONFIRM, answer

from newel.agents import LlmAgent
from newel.apps import App, ResumabilityConfig
from newel.runners import Runner
from newel.sessions import SqliteSessionService
from newel.testing import ScriptedModel
from newel.tools import FunctionTool
from newel_kernel import Event, ModelError
from newel_types import FunctionCall


class Processes:
    """Each message is sent by a process of its own, with a store of its own over one file."""

    def __init__(self, file: Path, resumable: bool) -> None:
        self._file, self._resumable = file, resumable
        self.ran: list[str] = []
        self.kills = False

    def send(self, model: Any, message: Any = None, invocation_id: str | None = None) -> list[Event]:
        async def main() -> list[Event]:
            runner = self._runner(model)
            run = runner.run_async(user_id="ada", session_id="s", new_message=message, invocation_id=invocation_id)
            try:
                async with asyncio.timeout(0.5 if self.kills else 30):
                    return [event async for event in run]
            finally:
                await runner.close()

        return asyncio.run(main())

    def _runner(self, model: Any) -> Runner:
        async def pay(sum_: int) -> str:
            """Pay."""
            self.ran.append(f"paid {sum_}")
            if self.kills:
                await asyncio.Event().wait()
            return "paid"

        tool = FunctionTool(pay, effect="at_most_once", require_confirmation=True)
        app = App(
            name="app",
            root_agent=LlmAgent(name="clerk", model=model, tools=[tool]),
            resumability_config=ResumabilityConfig(is_resumable=self._resumable),
        )
        store = SqliteSessionService(str(self._file))
        return Runner(app=app, session_service=store, auto_create_session=True)

    def ask(self) -> tuple[str, Any]:
        """The id of an invocation that asks for an approval, and the approval."""
        events = self.send(ScriptedModel([FunctionCall(name="pay", args={"sum_": 5})]), "go")
        return events[0].invocation_id, answer(asked(events))


def asked(events: list[Event]) -> list[str]:
    return [call.id or "" for event in events for call in event.get_function_calls() if call.name == CONFIRM]


@pytest.fixture(params=[False, True], ids=["plain", "resumable"])
def processes(tmp_path: Path, request: pytest.FixtureRequest) -> Processes:
    return Processes(tmp_path / "sessions.db", request.param)


@pytest.mark.parametrize("failures", [1, 3])
def test_after_a_failure_before_the_tool_the_same_approval_runs_it(processes: Processes, failures: int) -> None:
    _, approval = processes.ask()
    for _ in range(failures):
        with pytest.raises(ModelError, match="unknown model"):
            processes.send("nothing:of-the-kind", approval)
    assert processes.ran == []
    events = processes.send(ScriptedModel(["done"]), approval)
    assert processes.ran == ["paid 5"]
    assert asked(events) == []


def test_once_it_may_have_begun_no_earlier_failure_makes_it_run_again(processes: Processes) -> None:
    _, approval = processes.ask()
    with pytest.raises(ModelError, match="unknown model"):
        processes.send("nothing:of-the-kind", approval)
    processes.kills = True
    with pytest.raises(TimeoutError):
        processes.send(ScriptedModel(["done"]), approval)
    processes.kills = False
    assert processes.ran == ["paid 5"]
    events = processes.send(ScriptedModel(["done"]), approval)
    assert processes.ran == ["paid 5"]
    assert len(asked(events)) == 1


def test_a_run_that_stores_no_answer_of_its_own_asks(tmp_path: Path) -> None:
    """It could be killed in the tool, and nothing in the log would tell a later run that it had begun."""
    processes = Processes(tmp_path / "sessions.db", resumable=True)
    invocation, approval = processes.ask()
    with pytest.raises(ModelError, match="unknown model"):
        processes.send("nothing:of-the-kind", approval)
    events = processes.send(ScriptedModel(["done"]), None, invocation)
    assert processes.ran == []
    assert len(asked(events)) == 1
