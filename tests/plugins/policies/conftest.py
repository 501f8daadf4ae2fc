"""One message to an agent with tools, on a composition of its own, over a session store on disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from newel.agents import LlmAgent
from newel.runners import Runner
from newel.sessions import SqliteSessionService
from newel.testing import ScriptedModel
from newel_kernel import Event, Session
from newel_compose import compose
from newel_kernel import LlmRequest
from newel_types import FunctionCall, Part


@dataclass
class Outcome:
    """What came of a message: the events, the session as read back from the file, and the model's requests."""

    events: list[Event]
    session: Session
    requests: list[LlmRequest]

    @property
    def results(self) -> list[dict[str, Any] | None]:
        """The results of the tool calls, as the store has them."""
        return [response.response for event in self.session.events for response in event.get_function_responses()]

    @property
    def result(self) -> Any:
        """The one result."""
        (only,) = self.results
        return only

    @property
    def calls(self) -> list[FunctionCall]:
        """The calls, as the store has them."""
        return [call for event in self.session.events for call in event.get_function_calls()]

    @property
    def said(self) -> str | None:
        """The last words."""
        content = self.events[-1].content
        return content.parts[0].text if content is not None and content.parts else None


@pytest.fixture
def ask(tmp_path: Path) -> Callable[..., Outcome]:
    """Plays `steps`, then a closing word: ``ask([call("brew")], tools=[brew], without=["tool_errors"])``.

    `settings` are those of plugins, `without` the plugins that a distribution over `base` takes out.
    """

    def send(
        *steps: Any, tools: Sequence[Any] = (), base: str = "standard", without: Sequence[str] = (),
        settings: str = "", agent: type[LlmAgent] = LlmAgent, **fields: Any,
    ) -> Outcome:  # fmt: skip
        # An overlay replaces a chain as a whole, and its plugins are named where one of them is taken out.
        house = tmp_path / "house.yaml"
        house.write_text(f"extends: {base}\n{_chains(base, without)}disable: [{', '.join(without)}]\n{settings}\n")
        files = len(list(tmp_path.glob("*.db")))
        model = ScriptedModel([*steps, "done"])
        waiter = agent(name="waiter", model=model, tools=list(tools), **fields)
        return asyncio.run(_converse(waiter, model, house, tmp_path / f"sessions{files}.db"))

    return send


def _chains(base: str, without: Sequence[str]) -> str:
    distribution = compose(base).distribution
    lines = ""
    for chain in ("tool_chain", "response_chain"):
        names = getattr(distribution, chain)
        if set(names) & set(without):
            lines += f"{chain}: [{', '.join(name for name in names if name not in without)}]\n"
    return lines


async def _converse(waiter: LlmAgent, model: ScriptedModel, house: Path, file: Path) -> Outcome:
    service = SqliteSessionService(file)
    where = {"user_id": "ada", "session_id": "s1"}
    try:
        runner = Runner(
            app_name="tearoom", agent=waiter, session_service=service, auto_create_session=True,
            composition=compose(house),
        )  # fmt: skip
        events = [event async for event in runner.run_async(new_message="tea", **where)]
    finally:
        await service.close()
    again = SqliteSessionService(file)
    try:
        session = await again.get_session(app_name="tearoom", **where)
    finally:
        await again.close()
    assert session is not None
    return Outcome(events, session, model.requests)


@pytest.fixture
def call() -> Callable[..., Part]:
    """A part that calls a tool."""

    def make(name: str, id: str | None = None, **args: Any) -> Part:
        return Part(function_call=FunctionCall(name=name, args=args, id=id))

    return make
