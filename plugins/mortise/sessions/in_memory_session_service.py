"""InMemorySessionService: sessions in this process, for tests and first steps; they end with it."""

from __future__ import annotations

from typing import Any

from mortise_kernel import seam
from mortise_kernel.contracts.services import (
    BaseSessionService,
    GetSessionConfig,
    ListSessionsResponse,
    apply_to_state,
    check_pairing,
    trim_temp,
)
from mortise_kernel.errors import AlreadyExistsError, SessionNotFoundError
from mortise_kernel.events import Event, freeze_event
from mortise_kernel.session import Session
from mortise_kernel.state import apply_delta, merge_scopes, split_by_scope
from mortise_kernel.types.hot import deep_copy

Scope = dict[str, Any]


class InMemorySessionService(BaseSessionService):
    """Sessions by app, user and id. `open` gives a view that shares the stored log of frozen events."""

    def __init__(self) -> None:
        #: app -> user -> session id -> the stored session; its `state` is the session scope alone.
        self.sessions: dict[str, dict[str, dict[str, Session]]] = {}
        self.app_state: dict[str, Scope] = {}
        self.user_state: dict[str, dict[str, Scope]] = {}

    async def create_session(
        self, *, app_name: str, user_id: str, state: dict[str, Any] | None = None, session_id: str | None = None
    ) -> Session:
        """A new session."""
        key = session_id.strip() if session_id and session_id.strip() else seam.new_id()
        users = self.sessions.setdefault(app_name, {}).setdefault(user_id, {})
        if key in users:
            raise AlreadyExistsError(f"Session with id {key} already exists.")
        stored = Session(id=key, app_name=app_name, user_id=user_id, last_update_time=seam.clock())
        if state:
            app, user, own = split_by_scope(deep_copy(state))
            apply_delta(self.app_state.setdefault(app_name, {}), app)
            apply_delta(self.user_state.setdefault(app_name, {}).setdefault(user_id, {}), user)
            stored.state.update(own)  # an initial None is a value: only a delta removes
        users[key] = stored
        return self._copy(stored, [])

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """A copy of the session; its events are the stored ones, which are frozen."""
        stored = self._stored(app_name, user_id, session_id)
        if stored is None:
            return None
        return self._copy(stored, config.select(stored.events) if config else list(stored.events))

    async def open(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """A view that shares the stored log; only the state is its own."""
        stored = self._stored(app_name, user_id, session_id)
        if stored is None:
            return None
        if config is not None:
            return self._copy(stored, config.select(stored.events))
        view = self._copy(stored, stored.events)
        view.cache = stored.cache = stored.cache if stored.cache is not None else {}
        return view

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """The sessions, without events."""
        users = self.sessions.get(app_name, {})
        chosen = users.values() if user_id is None else [users.get(user_id, {})]
        return ListSessionsResponse(sessions=[self._copy(s, []) for sessions in chosen for s in sessions.values()])

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Forget the session."""
        self.sessions.get(app_name, {}).get(user_id, {}).pop(session_id, None)

    async def append_event(self, session: Session, event: Event) -> Event:
        """Commit to the stored log and to `session`, which may be a view of it or a copy."""
        if event.partial:
            return event
        stored = self._stored(session.app_name, session.user_id, session.id)
        if stored is None:
            raise SessionNotFoundError(f"the session {session.id!r} was deleted; its event is not stored")
        check_pairing(stored.events, event)
        apply_to_state(session.state, event)
        trim_temp(event)
        freeze_event(event)
        actions = event.touched_actions
        if actions is not None and actions.state_delta:
            app, user, own = split_by_scope(actions.state_delta)
            apply_delta(self.app_state.setdefault(session.app_name, {}), app)
            apply_delta(self.user_state.setdefault(session.app_name, {}).setdefault(session.user_id, {}), user)
            apply_delta(stored.state, own)
        stored.events.append(event)
        if session.events is not stored.events:
            session.events.append(event)
        stored.last_update_time = session.last_update_time = event.timestamp
        return event

    def _stored(self, app_name: str, user_id: str, session_id: str) -> Session | None:
        return self.sessions.get(app_name, {}).get(user_id, {}).get(session_id)

    def _copy(self, stored: Session, events: list[Event]) -> Session:
        app, user = self.app_state.get(stored.app_name), self.user_state.get(stored.app_name)
        mine = user.get(stored.user_id) if user else None
        if app or mine:
            state = deep_copy(merge_scopes(app or {}, mine or {}, stored.state))
        else:
            state = deep_copy(stored.state) if stored.state else {}
        return Session(
            id=stored.id, app_name=stored.app_name, user_id=stored.user_id, state=state, events=events,
            last_update_time=stored.last_update_time,
        )  # fmt: skip
