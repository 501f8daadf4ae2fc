"""Conversations: a run of an agent for a caller, with the questions that it puts on the way."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from newel.claims import SessionBusyError
from newel.contexts.run_config import RunConfig
from newel.mcp_server.caller import Caller, unanswered
from newel.mcp_server.single_calls import reference
from newel.questions.question import Question, open_questions
from newel.runners import Runner
from newel.runs import Run
from newel_kernel import Event, Log, Session, StreamingMode, seam
from newel_types import Content, Part

#: The ids of the server's own sessions begin so; no other session of the store can be continued through it.
_OWN = "mcp-"
_log = logging.getLogger(__name__)


class RunFailedError(Exception):
    """The run failed; the text names a reference into the log, and nothing of what went wrong."""


@dataclass(slots=True)
class Conversation:
    """A session of a user, which lives as long as the store keeps it."""

    runner: Runner
    user_id: str
    session_id: str = field(default_factory=lambda: f"{_OWN}{seam.new_session_id()}")

    async def create(self) -> None:
        """Create the session, if a run may begin in it."""
        self.runner.runs.admit()
        await self.runner.session_service.create_session(
            app_name=self.runner.app_name, user_id=self.user_id, session_id=self.session_id
        )

    async def exists(self) -> bool:
        """Whether it is a session that this server made for the user."""
        return self.session_id.startswith(_OWN) and await self._open() is not None

    async def delete(self) -> None:
        """Delete the session."""
        await self.runner.delete_session(user_id=self.user_id, session_id=self.session_id)

    async def say(self, content: Content, caller: Caller) -> list[Event]:
        """Send `content`, and answer what the agent asks, until nothing is left to ask; return all final events.

        Raises RunFailedError, and what `Caller.ask` raises.
        """
        events: list[Event] = []
        while True:
            events += await self._run(content, caller)
            responses = await self._asked(events, caller)
            if not responses:
                return events
            content = Content(role="user", parts=responses)

    async def resume(self, caller: Caller) -> list[Event]:
        """Go on with the caller's answers to what was asked before."""
        stored = await self._open()
        responses = await self._asked(stored.events if stored is not None else (), caller)
        if not responses:
            return []
        return await self.say(Content(role="user", parts=responses), caller)

    async def waiting(self, events: Sequence[Event]) -> list[str]:
        """What the agent still waits for, of what it asked in `events`."""
        return [unanswered(one) for one in await self._open_questions(events)]

    async def artifacts(self, events: Sequence[Event]) -> list[tuple[str, Part]]:
        """The artifacts that were saved in `events`, by name, each in its latest version."""
        if (service := self.runner.artifact_service) is None:
            return []
        saved: dict[str, int] = {}
        for event in events:
            if (actions := event.touched_actions) is not None:
                saved.update(actions.artifact_delta or {})
        found: list[tuple[str, Part]] = []
        for name, version in saved.items():
            part = await service.load_artifact(
                app_name=self.runner.app_name,
                user_id=self.user_id,
                session_id=self.session_id,
                filename=name,
                version=version,
            )
            if part is not None:
                found.append((name, part))
        return found

    async def _asked(self, events: Sequence[Event], caller: Caller) -> list[Part]:
        """The caller's answers to what is open of the questions in `events`."""
        questions = await self._open_questions(events)
        answers = await caller.ask(questions, self.session_id) if questions else ()
        return [Part(function_response=one.response(answer)) for one, answer in answers if answer is not None]

    async def _open_questions(self, events: Sequence[Event]) -> list[Question]:
        if not any(event.long_running_tool_ids for event in events):
            return []
        session = await self._open()
        asked = {event.id for event in events}
        return [one for one in open_questions(Log(session.events)) if one.event_id in asked] if session else []

    async def _open(self) -> Session | None:
        service = self.runner.session_service
        return await service.open(app_name=self.runner.app_name, user_id=self.user_id, session_id=self.session_id)

    async def _run(self, content: Content, caller: Caller) -> list[Event]:
        """One run, to its end; cancelling the caller cancels it."""
        run = self.runner.start(
            user_id=self.user_id,
            session_id=self.session_id,
            new_message=content,
            run_config=RunConfig(streaming_mode=StreamingMode.SSE),
        )
        try:
            return await _followed(run, caller)
        except SessionBusyError:
            raise
        except Exception as error:
            raise failure(error) from error
        finally:
            run.cancel()  # the run has a task of its own: nothing of it is in the caller's cancel scopes


async def _followed(run: Run, caller: Caller) -> list[Event]:
    events: list[Event] = []
    async with aclosing(run.events()) as following:
        async for event in following:
            await caller.note(event)
            if not event.partial:
                events.append(event)
    return events


def failure(error: Exception, what: str = "the run failed") -> RunFailedError:
    """Log `error`; what the client gets instead of it."""
    ref = reference()
    _log.error("%s for an MCP client (ref %s)", what, ref, exc_info=error)
    return RunFailedError(f"{what} (ref {ref}); the server's log says why")
