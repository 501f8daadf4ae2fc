"""A process that dies at any event goes on with the invocation's id alone: what is stored does not happen again."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from kinds import KINDS, answer, expected, make_runner, send, unanswered

from newel.sessions import InMemorySessionService
from newel_kernel import Event, Session

#: The most commits that a pair takes, and some.
MANY = 200


class DeathError(BaseException):
    """The process is gone."""


class MortalStore(InMemorySessionService):
    """Dies before or after its n-th commit; from then on nothing is stored, as nothing runs any more."""

    def __init__(self) -> None:
        super().__init__()
        self.left: int | None = None
        self.before = False

    def revive(self) -> None:
        self.left = None

    async def append_event(self, session: Session, event: Event) -> Event:
        if self.left is None or event.partial:
            return await super().append_event(session, event)
        self.left -= 1
        if self.left < 0 or (self.left == 0 and self.before):
            raise DeathError
        stored = await super().append_event(session, event)
        if self.left == 0:
            raise DeathError
        return stored

    async def delete_session(self, **where: Any) -> None:
        if self.left is not None and self.left <= 0:
            raise DeathError
        await super().delete_session(**where)


class Story:
    """One pair, from the message to its end, with a death at one commit."""

    def __init__(self, outer: str, inner: str, distribution: str) -> None:
        self.pair, self.distribution = (outer, inner), distribution
        self.store = MortalStore()
        self.runs: list[tuple[str, str]] = []
        #: The calls that may have run without a stored result when the process died.
        self.open: set[str] = set()
        self.died = False

    def _runner(self) -> Any:
        return make_runner(*self.pair, self.store, lambda *run: self.runs.append(run), self.distribution)

    async def _step(self, message: Any = None, invocation_id: str | None = None) -> None:
        try:
            await send(self._runner(), "s", message, invocation_id)
        except DeathError:
            self.died = True
            self.store.revive()
            await self._look()
            await self._again()

    async def _look(self) -> None:
        listed = await self.store.list_sessions(app_name="app", user_id="ada")
        for one in listed.sessions:
            session = await self.store.get_session(app_name="app", user_id="ada", session_id=one.id)
            assert session is not None
            for event in session.events:
                self.open |= {str(call.id) for call in event.get_function_calls() if call.name != "wipe"}
                self.open -= {str(response.id) for response in event.get_function_responses()}
                # An approved call has a first result; the one that counts is the one after the answer.
                if event.author == "user":
                    self.open |= {str(call) for call in _approved(session, event)}

    async def _again(self) -> None:
        session = await self.store.get_session(app_name="app", user_id="ada", session_id="s")
        if session is None or not session.events:
            await send(self._runner(), "s", "go")  # nothing was acknowledged: the caller tries again
        else:
            await send(self._runner(), "s", invocation_id=session.events[0].invocation_id)

    async def play(self, at: int, *, before: bool) -> None:
        self.store.left, self.store.before = at, before
        await self._step("go")
        for _ in range(8):
            if not (waiting := await unanswered(self.store, "s")):
                break
            (request, invocation_id), *_ = waiting.items()
            await self._step(answer([request]), invocation_id)
        self.store.revive()


def _approved(session: Session, answered: Event) -> list[Any]:
    ids = {response.id for response in answered.get_function_responses()}
    return [
        (call.args or {})["originalFunctionCall"]["id"]
        for event in session.events
        for call in event.get_function_calls()
        if call.id in ids and "originalFunctionCall" in (call.args or {})
    ]


async def check(outer: str, inner: str, at: int, *, before: bool) -> bool:
    """Whether the story had an `at`-th commit to die at."""
    story = Story(outer, inner, "standard")
    await story.play(at, before=before)
    where = f"{outer}-{inner}, death {'before' if before else 'after'} commit {at}"
    session = await story.store.get_session(app_name="app", user_id="ada", session_id="s")
    assert session is not None
    ends = [e for e in session.events if e.author == "outer" and e.actions.end_of_agent]
    assert ends or outer == "graph", f"{where}: not finished"  # a graph leaves no note of its end
    twice = {call for (_, call), count in Counter(story.runs).items() if count > 1}
    assert twice <= story.open, f"{where}: a call with a stored result ran again"
    ran = Counter(tool for tool, _ in set(story.runs))
    assert ran == expected(outer, inner), f"{where}: {ran}"
    listed = await story.store.list_sessions(app_name="app", user_id="ada")
    assert [one.id for one in listed.sessions] == ["s"], where
    return story.died


@pytest.mark.parametrize("outer", KINDS)
@pytest.mark.parametrize("inner", KINDS)
def test_an_invocation_survives_a_death_at_any_commit(outer: str, inner: str) -> None:
    async def main() -> None:
        # Before a commit is after all that led to it; after one differs only by what has not begun.
        for before in (False, True) if outer == inner else (True,):
            at = 1
            while await check(outer, inner, at, before=before):
                at += 1
                assert at < MANY

    asyncio.run(main())
