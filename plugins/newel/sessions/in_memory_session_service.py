"""InMemorySessionService: sessions in this process, for tests and first steps; they end with it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import count

from newel.connections.wakes import Wakes
from newel.sessions import event_log
from newel.sessions.contract import (
    Capabilities,
    OwnedSessions,
    SearchableSessions,
    SessionOwner,
    SessionPage,
    SessionStore,
    WatchedSessions,
)
from newel.sessions.event_log import EventLog
from newel.sessions.forks import fork_length, state_at
from newel.sessions.kept_values import kept_event
from newel.sessions.pages import place_of, read_place
from newel.sessions.pairing import check_pairing
from newel.sessions.scopes import merge_scopes, split_by_scope
from newel.sessions.stored.encoding import decode_value
from newel.sessions.stored.rows import Changes, StateChange
from newel.sessions.views import (
    apply_commit,
    check_after,
    check_append,
    check_delta,
    check_keys,
    check_names,
    check_new,
    fenced,
    stored_before,
)
from newel.sessions.watching import Watch
from newel_kernel import (
    AlreadyExistsError,
    Event,
    FencedError,
    GetSessionConfig,
    Json,
    ListSessionsResponse,
    Session,
    SessionNotFoundError,
    apply_delta,
    brief,
    freeze_event,
    seam,
)
from newel_types import deep_copy, well_formed

Scope = Json


class InMemorySessionService(OwnedSessions, SearchableSessions, WatchedSessions, SessionStore):
    """Sessions by app, user and id. `open` gives a view that shares the stored log of frozen events.

    Event loops in several threads may use one.
    """

    capabilities = Capabilities(durable=False, shared=False)

    def __init__(self) -> None:
        #: app -> user -> session id -> the stored session; its `state` is the session scope alone.
        self.sessions: dict[str, dict[str, dict[str, Session]]] = {}
        self.app_state: dict[str, Scope] = {}
        self.user_state: dict[str, dict[str, Scope]] = {}
        #: By name, what else goes with a session (its app, its user and its id) that is deleted.
        self.forgetting: dict[str, Callable[[str, str, str], None]] = {}
        self._numbers = count(1)
        #: Made with the first follower.
        self._wakes: Wakes | None = None

    async def create_session(
        self, *, app_name: str, user_id: str, state: Json | None = None, session_id: str | None = None
    ) -> Session:
        """A new session."""
        with event_log.containers:
            return self._create(app_name, user_id, session_id, state)

    def _create(self, app_name: str, user_id: str, session_id: str | None, state: Json | None) -> Session:
        key = session_id.strip() if session_id and session_id.strip() else seam.new_session_id()
        check_names(app_name, user_id, key)
        initial = None
        if state:
            state = well_formed(state)
            check_keys(state, subject := f"the state of session {brief(key)!r}")
            initial = StateChange.initial(state, subject)
        users = self.sessions.setdefault(app_name, {}).setdefault(user_id, {})
        if key in users:
            raise AlreadyExistsError(f"Session with id {brief(key)} already exists.")
        stored = Session(
            id=key,
            app_name=app_name,
            user_id=user_id,
            events=(log := EventLog((), next(self._numbers))),
            last_update_time=seam.clock(),
        )
        stored.number = log.number
        if initial is not None:
            self._apply_scopes(stored, _decoded(initial.app), _decoded(initial.user), {})
            stored.state.update(_decoded(initial.session))  # only a delta removes: None is a value here
        users[key] = stored
        if not state and not self.app_state and not self.user_state:
            view = Session(id=key, app_name=app_name, user_id=user_id, last_update_time=stored.last_update_time)
            view.number = stored.number
            return view
        return self._copy(stored, [])

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """A copy of the session; its events are the stored ones, which are frozen."""
        with event_log.containers:
            stored = self._stored(app_name, user_id, session_id)
            if stored is None:
                return None
            return self._copy(stored, config.select(stored.events) if config else list(stored.events))

    async def open(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """A view that shares the stored log; only the state is its own."""
        with event_log.containers:
            return self._open(app_name, user_id, session_id, config)

    def _open(self, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None) -> Session | None:
        try:  # not by calling `_stored`: each turn opens a view
            stored = self.sessions[app_name][user_id][session_id]
        except KeyError:
            return None
        if config is not None:
            return self._copy(stored, config.select(stored.events))
        view = self._copy(stored, stored.events)
        view.cache = view.events.cache  # type: ignore[attr-defined]  # an EventLog
        return view

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """The sessions by user, each user's in the order of creation, without events."""
        with event_log.containers:
            stored = self._listed(app_name, user_id)
            return ListSessionsResponse(sessions=[self._copy(one, []) for one in stored])

    async def list_page(
        self, *, app_name: str, user_id: str | None = None, size: int = 100, after: str | None = None
    ) -> SessionPage:
        """At most `size` sessions, by user and in order of creation, after the page that gave `after`."""
        place = read_place(after, size) or ("", 0)
        with event_log.containers:
            entries = [one for one in self._listed(app_name, user_id) if (one.user_id, one.number) > place]
            rest = place_of(entries[size - 1].user_id, entries[size - 1].number) if entries[size:] else None
            return SessionPage([self._copy(one, []) for one in entries[:size]], rest)

    def _listed(self, app_name: str, user_id: str | None) -> list[Session]:
        users = self.sessions.get(app_name, {})
        user_ids = sorted(users) if user_id is None else [user_id]
        return [stored for user in user_ids for stored in users.get(user, {}).values()]

    async def owners(self) -> list[SessionOwner]:
        """The users of all apps who have sessions."""
        with event_log.containers:
            return [
                SessionOwner(app, user, len(own), max(one.last_update_time for one in own.values()))
                for app, users in sorted(self.sessions.items())
                for user, own in sorted(users.items())
                if own
            ]

    async def containing(self, *, app_name: str, user_id: str, texts: Sequence[str]) -> list[str]:
        """Every session of the user: in memory, looking at one costs no more than finding it."""
        with event_log.containers:
            own = self.sessions.get(app_name, {}).get(user_id, {}).values()
            return [one.id for one in sorted(own, key=lambda one: one.last_update_time, reverse=True)]

    async def fork(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        new_session_id: str | None = None,
        events: int | None = None,
    ) -> Session:
        """A new session with the first `events` events of this one: see `SessionStore`."""
        with event_log.containers:
            source = self._open(app_name, user_id, session_id, None)
            if source is None:
                raise SessionNotFoundError(f"the session {brief(session_id)!r} does not exist")
            count = fork_length(source, events)
            new = self._create(app_name, user_id, new_session_id, state_at(source, count))
            stored = self.sessions[app_name][user_id][new.id]
            stored.events.grow(0, source.events[:count])  # type: ignore[attr-defined]  # an EventLog
            stored.version = count
            return self._copy(stored, list(stored.events))

    async def tail(self, *, app_name: str, user_id: str, session_id: str, after: int) -> list[Event]:
        """The committed events after the first `after`, in order."""
        stored = self._stored(app_name, user_id, session_id)
        return list(stored.events[after:]) if stored is not None else []

    @asynccontextmanager
    async def watch(self, *, app_name: str, user_id: str, session_id: str) -> AsyncIterator[Watch]:
        """A watch over the session."""
        if self._wakes is None:
            self._wakes = Wakes()
        with self._wakes.watched((app_name, user_id, session_id)) as changed:
            yield Watch(changed, lambda: True)

    async def wake(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """End the waits of those who follow the session."""
        if self._wakes is not None:
            self._wakes.wake((app_name, user_id, session_id))

    async def append_out_of_band(
        self, *, app_name: str, user_id: str, session_id: str, event: Event, after: int | None = None
    ) -> Event:
        """Append during a run of the session: every view in this process follows."""
        view = await self.open(app_name=app_name, user_id=user_id, session_id=session_id)
        if view is None:
            raise SessionNotFoundError(f"the session {brief(session_id)!r} does not exist; the event is not stored")
        if after is None:
            return await self.append_event(view, event)
        with event_log.containers:  # against other threads: here nothing suspends
            check_after(session_id, len(view.events), after, event)
            return await self.append_event(view, event)

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Forget the session, and what goes with it."""
        with event_log.containers:
            self.sessions.get(app_name, {}).get(user_id, {}).pop(session_id, None)
            for forget in self.forgetting.values():
                forget(app_name, user_id, session_id)

    async def append_event(self, session: Session, event: Event) -> Event:
        """Commit to the stored log and to `session`, which may be a view of it or a copy, even a stale one."""
        if event.partial:
            return event
        with event_log.containers:
            try:
                stored = self.sessions[session.app_name][session.user_id][session.id]
            except KeyError:
                raise SessionNotFoundError(
                    f"the session {brief(session.id)!r} does not exist (any more); event {event.id} is not stored"
                ) from None
            log: EventLog = stored.events  # type: ignore[assignment]  # create_session made it
            if (
                session.events is not log
                or session.version != len(log)
                or ((actions := event.touched_actions) is not None and actions.state_delta)
            ):
                return self._append_any(stored, session, log, event)
            # The usual append, through a live view at the end of its log, of an event that leaves the state alone.
            if session.lease and session.lease != stored.lease:
                raise FencedError(fenced(session.id, session.lease, stored.lease))
            if log.knows(event.id):
                raise stored_before(event)
            if event.author != "user":
                check_pairing(log, event)
            kept = kept_event(event)
            freeze_event(event)
            log.take(kept)
            if kept is not event:
                freeze_event(kept)
            session.version = stored.version = len(log)
            session.last_update_time = stored.last_update_time = event.timestamp
            if self._wakes is not None:
                self._wakes.wake((session.app_name, session.user_id, session.id))
            return event

    def _append_any(self, stored: Session, session: Session, log: EventLog, event: Event) -> Event:
        version = len(log)
        check_append(session, event, log=log, lease=stored.lease)
        check_delta(event)
        check_new(log, event)
        check_pairing(log, event)
        kept = kept_event(event)
        apply_commit(session, log, version, event, kept)
        log.take(freeze_event(kept))
        stored.version, stored.last_update_time = version + 1, event.timestamp
        actions = kept.touched_actions
        if actions is not None and actions.state_delta:
            self._apply(stored, deep_copy(actions.state_delta))
        if self._wakes is not None:
            self._wakes.wake((session.app_name, session.user_id, session.id))
        return event

    def _apply(self, stored: Session, delta: Scope) -> None:
        self._apply_scopes(stored, *split_by_scope(delta))

    def _apply_scopes(self, stored: Session, app: Scope, user: Scope, own: Scope) -> None:
        if app:
            apply_delta(self.app_state.setdefault(stored.app_name, {}), app)
        if user:
            apply_delta(self.user_state.setdefault(stored.app_name, {}).setdefault(stored.user_id, {}), user)
        apply_delta(stored.state, own)

    def _stored(self, app_name: str, user_id: str, session_id: str) -> Session | None:
        try:
            return self.sessions[app_name][user_id][session_id]
        except KeyError:
            return None

    def _copy(self, stored: Session, events: list[Event]) -> Session:
        state = deep_copy(stored.state) if stored.state else {}
        if self.app_state or self.user_state:
            app = self.app_state.get(stored.app_name, {})
            mine = self.user_state.get(stored.app_name, {}).get(stored.user_id, {})
            state = merge_scopes(deep_copy(app), deep_copy(mine), state)
        copy = Session(
            id=stored.id,
            app_name=stored.app_name,
            user_id=stored.user_id,
            state=state,
            events=events,
            last_update_time=stored.last_update_time,
        )
        copy.version, copy.number = len(stored.events), stored.number
        return copy


def _decoded(changes: Changes) -> Scope:
    return {name: None if data is None else decode_value(data) for name, data in changes.items()}
