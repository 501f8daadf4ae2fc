"""A message whose session another process was quicker with comes behind what that stored; a run is never repeated."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from newel import Agent, Runner
from newel.cli.conversation import Conversation
from newel.cli.turn import RunFailedError, run_turn
from newel.sessions import InMemorySessionService
from newel.testing import ScriptedModel
from newel_kernel import Event, Session, StaleSessionError

WHERE = {"app_name": "app", "user_id": "ann", "session_id": "1"}


class Behind(InMemorySessionService):
    """A store whose first appends by `author` come too late."""

    def __init__(self, author: str, times: int) -> None:
        super().__init__()
        self._author, self._times = author, times

    async def append_event(self, session: Session, event: Event) -> Event:
        if event.author == self._author and self._times:
            self._times -= 1
            error = StaleSessionError("another process appended")
            error.event = event
            raise error
        return await super().append_event(session, event)


def send(store: Behind) -> tuple[list[str], list[str]]:
    """The authors of what is shown, and of what is stored."""
    shown: list[str] = []

    async def run() -> list[str]:
        model = ScriptedModel(["hello"])
        runner = Runner(
            agent=Agent(name="a", model=model), app_name="app", session_service=store, auto_create_session=True
        )
        conversation = Conversation(runner, "ann", "1", ())
        show = SimpleNamespace(show=lambda event: shown.append(event.author), cut=lambda: None, end=lambda: 0)
        assert await run_turn(conversation, "hi", cast("Any", show), stream=False) == 0
        session = await store.get_session(**WHERE)
        assert session is not None
        return [event.author for event in session.events]

    return shown, asyncio.run(run())


@pytest.mark.parametrize("times", [0, 1, 4])
def test_the_message_is_sent_again(times: int) -> None:
    assert send(Behind("user", times)) == (["a"], ["user", "a"])


@pytest.mark.parametrize(("author", "times"), [("user", 5), ("a", 1)])
def test_but_not_for_ever_and_not_once_something_of_it_is_stored(author: str, times: int) -> None:
    with pytest.raises(RunFailedError, match="another process appended"):
        send(Behind(author, times))
