"""One message to an agent with tools, on a composition of its own, over a session store on disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from newel.agents import LlmAgent
from newel.sessions import SqliteSessionService
from newel.testing import Conversation, ScriptedModel
from newel_compose import Composition, compose, compose_once
from newel_kernel import Event, LlmRequest, Session
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
        *steps: Any,
        tools: Sequence[Any] = (),
        base: str = "standard",
        without: Sequence[str] = (),
        settings: str = "",
        agent: type[LlmAgent] = LlmAgent,
        **fields: Any,
    ) -> Outcome:
        # An overlay replaces a chain as a whole, and its plugins are named where one of them is taken out.
        house = tmp_path / "house.yaml"
        house.write_text(f"extends: {base}\n{_chains(base, without)}disable: [{', '.join(without)}]\n{settings}\n")
        files = len(list(tmp_path.glob("*.db")))
        waiter = agent(name="waiter", model=ScriptedModel([*steps, "done"]), tools=list(tools), **fields)
        return asyncio.run(_converse(waiter, compose(house), tmp_path / f"sessions{files}.db"))

    return send


def _chains(base: str, without: Sequence[str]) -> str:
    distribution = compose_once(base).distribution
    lines = ""
    for chain in ("tool_chain", "response_chain"):
        names = getattr(distribution, chain)
        if set(names) & set(without):
            lines += f"{chain}: [{', '.join(name for name in names if name not in without)}]\n"
    return lines


async def _converse(waiter: LlmAgent, house: Composition, file: Path) -> Outcome:
    async with SqliteSessionService(file) as store:
        events = await _conversation(waiter, house, store).send("tea")
    async with SqliteSessionService(file) as again:
        chat = _conversation(waiter, house, again)
        return Outcome(events, await chat.stored(), chat.requests)


def _conversation(waiter: LlmAgent, house: Composition, store: SqliteSessionService) -> Conversation:
    return Conversation(waiter, distribution=house, session_service=store)


@pytest.fixture
def call() -> Callable[..., Part]:
    """A part that calls a tool."""

    def make(name: str, id: str | None = None, **args: Any) -> Part:
        return Part(function_call=FunctionCall(name=name, args=args, id=id))

    return make
