"""Agent calls: how an AgentTool works in a resumable invocation, where the agent's run can pause and survive.

The agent runs in a session of the caller's own store, whose id follows from the caller's session and the call. If
it waits for the user, its requests appear in the caller's session, and the call has no result yet. When the call runs
again, it takes the answers from there. A run that has ended is not repeated: its result is read.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass

from newel.auth.stash_keys import ANSWERS
from newel.contexts.invocation_context import full_invocation
from newel.questions.question import Question, unanswered
from newel.questions.requests import request_event
from newel.tools.agent_calls import ENDED, results_of
from newel.tools.inner_runner import InnerRunner
from newel_kernel import Context, Event, InvocationContext, Json, Log, Session
from newel_types import Content, Part, deep_copy

_SHARED = ("app:", "user:")
_UNFINISHED = "The user changed the subject instead of answering the agent, so its work was left unfinished."
_SPACE = uuid.UUID("6f1f4a52-6a3c-4c53-9a53-6c7b9f3f3d0e")


def session_id_of(ctx: InvocationContext, call_id: str) -> str:
    """The id of the session in which the agent works on this call."""
    return derived_session_id(ctx, call_id, results_of(ctx)[call_id])


def derived_session_id(ctx: InvocationContext, call_id: str, earlier: int) -> str:
    """The id of the session for a call whose id has had `earlier` results in this invocation."""
    ids = json.dumps([ctx.session.id, ctx.invocation_id, call_id, earlier])  # no two lists give the same text
    return f"agent-{uuid.uuid5(_SPACE, ids)}"


@dataclass(frozen=True, slots=True)
class Ended:
    """The events of a run that has ended, or why it was abandoned."""

    events: Sequence[Event]
    error: str | None = None


class AgentCall:
    """One call of an AgentTool, in a resumable invocation."""

    def __init__(self, runner: InnerRunner, context: Context) -> None:
        self._runner = runner
        self._context = context
        self._ctx = full_invocation(context.get_invocation_context())
        runner.session_service = self._ctx.session_service
        runner.resumability_config = self._ctx.resumability_config
        self._call_id = context.function_call_id or ""
        self._where: Json = {
            "app_name": runner.app_name,
            "user_id": self._ctx.user_id,
            "session_id": session_id_of(self._ctx, self._call_id),
        }

    async def run(self, message: Content, state: Json) -> Ended | None:
        """Begin the agent's run or continue it; None if it waits for the user."""
        session = await self._load()
        if session is None:
            own = {key: value for key, value in state.items() if not key.startswith(_SHARED)}
            session = await self._runner.session_service.create_session(**self._where, state=deep_copy(own))
        if session.events:
            await self._go_on(session.events)
        else:
            await self._drive(None, message)
        session = await self._load() or session
        waiting = _waiting(session.events)
        if waiting and not self._is_over(session.events):
            return self._wait(session.events, waiting)
        await self._note_end(session)
        self._take_over(session.events)
        self._ctx.stash[ENDED].append((self._call_id, self._where["session_id"]))
        return Ended(session.events)

    async def _load(self) -> Session | None:
        return await self._runner.session_service.get_session(**self._where)

    async def _go_on(self, events: Sequence[Event]) -> None:
        answers = list(self._answers(_waiting(events)))
        await self._drive(events[0].invocation_id, Content(role="user", parts=answers) if answers else None)

    async def _drive(self, invocation_id: str | None, message: Content | None) -> None:
        run = self._runner.run_async(
            user_id=self._ctx.user_id,
            session_id=self._where["session_id"],
            invocation_id=invocation_id,
            new_message=message,
        )
        async with aclosing(run) as events:
            async for _ in events:
                pass

    def _answers(self, waiting: dict[str, Question]) -> list[Part]:
        """The user's answers in the caller's session, as responses to the agent's own questions."""
        parts: dict[str, Part] = {}
        for event in self._ctx.get_events(current_invocation=True):
            for response in event.get_function_responses() if event.author == "user" else ():
                if (question := waiting.get(response.id or "")) is not None:
                    credential = self._ctx.stash[ANSWERS].get(response.id)  # which no event holds
                    answer = deep_copy(response.response) if credential is None else credential.model_dump(mode="json")
                    parts.setdefault(question.id, Part(function_response=question.response(answer)))
        return list(parts.values())

    def _wait(self, events: Sequence[Event], waiting: dict[str, Question]) -> Ended | None:
        """Ask the user what was not asked yet. If the user went on without answering, the call ends."""
        ctx = self._ctx
        known_ids: set[str] = set()
        for event in ctx.get_events(current_invocation=True):
            if event.author == "user" and not event.get_function_responses() and known_ids:
                self._ctx.stash[ENDED].append((self._call_id, self._where["session_id"]))
                return Ended(events, _UNFINISHED)
            known_ids |= waiting.keys() & (event.long_running_tool_ids or set())
        new = [question.call for call_id, question in waiting.items() if call_id not in known_ids]
        self._context.leave_open(request_event(ctx, new, scope=self._call_id) if new else None)
        return None

    def _is_over(self, events: Sequence[Event]) -> bool:
        root = self._runner.agent.name
        return any(
            event.author == root and (a := event.touched_actions) is not None and a.end_of_agent for event in events
        )

    async def _note_end(self, session: Session) -> None:
        """Store that the run is over, if the agent's kind does not store it."""
        if session.events and not self._is_over(session.events):
            end = Event(author=self._runner.agent.name, invocation_id=session.events[0].invocation_id)
            end.actions.end_of_agent = True
            await self._runner.session_service.append_event(session, end)

    def _take_over(self, events: Sequence[Event]) -> None:
        """Pass the agent's changes of its session's own state, and its artifacts' names, back to the caller."""
        for event in events:
            actions = event.touched_actions
            if event.author == "user" or actions is None:
                continue
            for key, value in actions.state_delta.items():
                if not key.startswith(_SHARED):
                    self._context.state[key] = deep_copy(value)
            if actions.artifact_delta:
                self._context.actions.artifact_delta.update(actions.artifact_delta)


def _waiting(events: Sequence[Event]) -> dict[str, Question]:
    """The questions that the user has not answered, by id."""
    return {question.id: question for question in unanswered(Log(events))}
