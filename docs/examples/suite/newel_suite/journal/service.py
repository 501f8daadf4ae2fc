"""JournalSessionService: each change is a line of JSON, on the disk before it is acknowledged.

The sessions themselves are in memory; replaying the lines rebuilds them. One process at a time, as the capabilities
say. The conformance kit checks all of it.
"""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import Any

from newel.sessions import Capabilities, InMemorySessionService, SessionPage, SessionStore
from newel_kernel import (
    ConfigurationError,
    Event,
    GetSessionConfig,
    Json,
    ListSessionsResponse,
    Session,
    SessionNotFoundError,
    StaleSessionError,
)


class JournalSessionService(SessionStore):
    """Sessions in memory, and a journal of their changes."""

    capabilities = Capabilities(durable=True, shared=False)

    def __init__(self, path: str) -> None:
        self._memory = InMemorySessionService()
        file = Path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        self._file = file.open("a+b")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise ConfigurationError(f"the journal {path!r} is in use by another process") from None
        self._played = False

    # --- the journal --------------------------------------------------------------------------------------------------

    async def _play(self) -> InMemorySessionService:
        """The sessions; the first call replays the lines."""
        if not self._played:
            self._played = True
            self._file.seek(0)
            for line in self._file.read().splitlines(keepends=True):
                if line.endswith(b"\n"):  # an unfinished line was never acknowledged
                    await self._do(json.loads(line))
                else:
                    self._file.truncate(self._file.seek(0, os.SEEK_END) - len(line))
        return self._memory

    async def _do(self, line: Json) -> None:
        """Replay a line."""
        what, where = str(line["do"]), {name: line[name] for name in ("app_name", "user_id", "session_id")}
        if what == "create":
            await self._memory.create_session(**where, state=line["state"])
        elif what == "delete":
            await self._memory.delete_session(**where)
        elif what == "fork":
            await self._memory.fork(**where, new_session_id=line["new"], events=line["events"])
        else:
            await self._memory.append_out_of_band(**where, event=Event.model_validate(line["event"]))

    def _write(self, what: str, session: Session, **more: object) -> None:
        """Add a line, and wait for the disk."""
        where = {"app_name": session.app_name, "user_id": session.user_id, "session_id": session.id}
        self._file.write(json.dumps({"do": what, **where, **more}, separators=(",", ":")).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    async def close(self) -> None:
        """Close the file, which releases the lock."""
        self._file.close()

    # --- changes ------------------------------------------------------------------------------------------------------

    async def create_session(
        self, *, app_name: str, user_id: str, state: Json | None = None, session_id: str | None = None
    ) -> Session:
        """A new session."""
        memory = await self._play()
        session = await memory.create_session(app_name=app_name, user_id=user_id, state=state, session_id=session_id)
        self._write("create", session, state={key: session.state.get(key) for key in state or {}})
        return session

    async def append_event(self, session: Session, event: Event) -> Event:
        """Commit an event."""
        memory = await self._play()
        if event.partial:
            return event
        event = await memory.append_event(session, event)
        self._write("append", session, event=event.model_dump(mode="json", by_alias=True, exclude_none=True))
        return event

    async def append_out_of_band(
        self, *, app_name: str, user_id: str, session_id: str, event: Event, after: int | None = None
    ) -> Event:
        """Append while another run may have the session; with `after`, only as the next after so many events."""
        view = await self.open(app_name=app_name, user_id=user_id, session_id=session_id)
        if view is None:
            raise SessionNotFoundError(f"the session {session_id!r} does not exist; the event is not stored")
        if after is not None and len(view.events) != after:  # nothing below suspends before it is in memory
            raise StaleSessionError(
                f"the session {session_id!r} has {len(view.events)} events; the event is not stored"
            )
        return await self.append_event(view, event)

    async def fork(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        new_session_id: str | None = None,
        events: int | None = None,
    ) -> Session:
        """A new session with the first events of this one."""
        where = {"app_name": app_name, "user_id": user_id, "session_id": session_id}
        new = await (await self._play()).fork(**where, new_session_id=new_session_id, events=events)
        source = Session(id=session_id, app_name=app_name, user_id=user_id)
        self._write("fork", source, new=new.id, events=len(new.events))
        return new

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Forget a session. Its lines stay in the file: if that matters, rewrite the journal."""
        memory = await self._play()
        session = await memory.get_session(app_name=app_name, user_id=user_id, session_id=session_id)
        if session is not None:
            await memory.delete_session(app_name=app_name, user_id=user_id, session_id=session_id)
            self._write("delete", session)

    # --- reads --------------------------------------------------------------------------------------------------------

    async def get_session(self, *, config: GetSessionConfig | None = None, **where: Any) -> Session | None:
        """A copy of the session."""
        return await (await self._play()).get_session(**where, config=config)

    async def open(self, *, config: GetSessionConfig | None = None, **where: Any) -> Session | None:
        """A view of the session."""
        return await (await self._play()).open(**where, config=config)

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """The sessions without their events."""
        return await (await self._play()).list_sessions(app_name=app_name, user_id=user_id)

    async def list_page(
        self, *, app_name: str, user_id: str | None = None, size: int = 100, after: str | None = None
    ) -> SessionPage:
        """Sessions, a page at a time."""
        return await (await self._play()).list_page(app_name=app_name, user_id=user_id, size=size, after=after)

    async def tail(self, *, app_name: str, user_id: str, session_id: str, after: int) -> list[Event]:
        """The events after the first `after`."""
        where = {"app_name": app_name, "user_id": user_id, "session_id": session_id}
        return await (await self._play()).tail(**where, after=after)
