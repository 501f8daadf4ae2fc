"""Planted bugs of stores of sessions, in one process and in several."""

from __future__ import annotations

import asyncio
from copy import copy
from itertools import chain
from typing import Any

from tests.plugins.testing.planted import Bugs

from newel.sessions import InMemorySessionService, SqliteSessionService
from newel_kernel import (
    AlreadyExistsError,
    Event,
    EventActions,
    FencedError,
    GetSessionConfig,
    ListSessionsResponse,
    Session,
    SessionNotFoundError,
    StaleSessionError,
    seam,
)

IN_MEMORY, IN_A_FILE = Bugs(), Bugs()
Memory, File = InMemorySessionService, SqliteSessionService


def without(event: Event, field: str) -> Event:
    """A copy of an event without one of its fields."""
    return event.model_copy(update={field: None})


class Reads(Memory):
    """The base of bugs in what is read: `seen` may change a session that is read."""

    def seen(self, session: Session) -> Session:
        return session

    async def get_session(self, **where: Any) -> Session | None:
        session = await super().get_session(**where)
        return self.seen(session) if session is not None else None

    async def open(self, **where: Any) -> Session | None:
        return await super().open(**where)


# --- fields, values and times -----------------------------------------------------------------------------------------


@IN_MEMORY.caught_by("every_field_of_an_event_comes_back")
class LosesTheBranch(Reads):
    def seen(self, session: Session) -> Session:
        session.events = [without(event, "branch") for event in session.events]
        return session


@IN_MEMORY.caught_by("every_field_of_an_event_comes_back")
class LosesTheUsage(Reads):
    def seen(self, session: Session) -> Session:
        session.events = [without(event, "usage_metadata") for event in session.events]
        return session


@IN_MEMORY.caught_by("every_field_of_an_event_comes_back")
class LosesWhatIsFalse(Reads):
    """A column that is written `if value`: False and None are one."""

    def seen(self, session: Session) -> Session:
        session.events = [
            event.model_copy(update={"turn_complete": event.turn_complete or None}) for event in session.events
        ]
        return session


@IN_MEMORY.caught_by("every_field_of_an_event_comes_back")
class LosesSignaturesOfThoughts(Reads):
    def seen(self, session: Session) -> Session:
        session.events = [Event.model_validate(event.model_dump(mode="json")) for event in session.events]
        for part in chain.from_iterable((event.content and event.content.parts) or () for event in session.events):
            part.thought_signature = None
        return session


@IN_MEMORY.caught_by("every_field_of_an_event_comes_back")
class LosesActionsInATail(Memory):
    async def tail(self, **where: Any) -> list[Event]:
        return [event.model_copy(update={"actions": EventActions()}) for event in await super().tail(**where)]


@IN_MEMORY.caught_by("a_partial_event_leaves_nothing")
class StoresPartialEvents(Memory):
    async def append_event(self, session: Session, event: Event) -> Event:
        await super().append_event(session, without(event, "partial"))
        return event


@IN_MEMORY.caught_by("a_partial_event_leaves_nothing")
class AppliesPartialState(Memory):
    async def append_event(self, session: Session, event: Event) -> Event:
        if event.partial and event.touched_actions:
            session.state.update(event.actions.state_delta)
        return await super().append_event(session, event)


@IN_MEMORY.caught_by("order_is_that_of_the_appends")
class SortsByTime(Reads):
    def seen(self, session: Session) -> Session:
        session.events = sorted(session.events, key=lambda event: event.timestamp)
        return session


@IN_MEMORY.caught_by("equal_times_keep_their_order")
class OrdersEqualTimesByTheirIds(Reads):
    """Right for events that are a moment apart."""

    def seen(self, session: Session) -> Session:
        rank = {time: n for n, time in enumerate(dict.fromkeys(event.timestamp for event in session.events))}
        session.events = sorted(session.events, key=lambda event: (rank[event.timestamp], event.id))
        return session


@IN_MEMORY.caught_by("equal_times_keep_their_order")
class RoundsTimes(Memory):
    async def append_event(self, session: Session, event: Event) -> Event:
        event.timestamp = round(event.timestamp, 3)
        return await super().append_event(session, event)


@IN_MEMORY.caught_by("equal_times_keep_their_order")
class FiltersAfterItsTime(Memory):
    async def get_session(self, *, config: GetSessionConfig | None = None, **where: Any) -> Session | None:
        session = await super().get_session(**where, config=config)
        if session is not None and config is not None and (after := config.after_timestamp) is not None:
            session.events = [event for event in session.events if event.timestamp > after]
        return session


@IN_MEMORY.caught_by("equal_times_keep_their_order")
class NoRecentEventsMeansAll(Memory):
    async def get_session(self, *, config: GetSessionConfig | None = None, **where: Any) -> Session | None:
        return await super().get_session(**where, config=config if config and config.num_recent_events != 0 else None)


@IN_MEMORY.caught_by("values_take_their_stored_form")
class ShowsTuplesUntilARestart(Memory):
    async def append_event(self, session: Session, event: Event) -> Event:
        delta = dict(event.touched_actions.state_delta) if event.touched_actions else {}
        event = await super().append_event(session, event)
        session.state.update({key: value for key, value in delta.items() if isinstance(value, tuple)})
        return event


@IN_MEMORY.caught_by("values_and_names_are_exact")
class NumbersAreFloats(Reads):
    def seen(self, session: Session) -> Session:
        for key, value in session.state.items():
            if isinstance(value, int) and abs(value) > 2**53:
                session.state[key] = float(value)
        return session


@IN_MEMORY.caught_by("copies_are_the_callers")
class GivesItsOwnState(Memory):
    def _copy(self, stored: Session, events: list[Event]) -> Session:
        session = super()._copy(stored, events)
        if not self.app_state and not self.user_state:
            session.state = stored.state
        return session


@IN_MEMORY.caught_by("what_was_stored_is_nobodys")
class SharesNestedValues(Memory):
    async def append_event(self, session: Session, event: Event) -> Event:
        delta = dict(event.touched_actions.state_delta) if event.touched_actions else {}
        event = await super().append_event(session, event)
        self.sessions[session.app_name][session.user_id][session.id].state.update(
            {key: value for key, value in delta.items() if ":" not in key and value is not None}
        )
        return event


# --- scopes, lists and deletions --------------------------------------------------------------------------------------


@IN_MEMORY.caught_by("scopes_are_shared")
class KeepsTemporaryState(Memory):
    async def append_event(self, session: Session, event: Event) -> Event:
        temporary = [key for key in event.actions.state_delta if key.startswith("temp:")]
        event = await super().append_event(session, event)
        for key in temporary:
            self.sessions[session.app_name][session.user_id][session.id].state[key] = 1
        return event


@IN_MEMORY.caught_by("scopes_are_shared")
class SharesAUsersStateWithAll(Memory):
    def _apply_scopes(self, stored: Session, app: Any, user: Any, own: Any) -> None:
        super()._apply_scopes(stored, {**app, **{f"../user:{key}": value for key, value in user.items()}}, user, own)


@IN_MEMORY.caught_by("scopes_are_shared")
class KeepsNone(Memory):
    def _apply_scopes(self, stored: Session, app: Any, user: Any, own: Any) -> None:
        super()._apply_scopes(stored, app, user, own)
        stored.state.update({key: None for key, value in own.items() if value is None})


@IN_MEMORY.caught_by("deleting_takes_one_session")
class DeletesWhatBeginsAlike(Memory):
    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        mine = self.sessions.get(app_name, {}).get(user_id, {})
        for name in [name for name in mine if name.startswith(session_id)]:
            del mine[name]


@IN_MEMORY.caught_by("deleting_takes_one_session")
class DeletesTheUsersState(Memory):
    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        await super().delete_session(app_name=app_name, user_id=user_id, session_id=session_id)
        self.user_state.get(app_name, {}).pop(user_id, None)


@IN_MEMORY.caught_by("deleting_takes_one_session")
class DeletesTheIdForEveryUser(Memory):
    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        for mine in self.sessions.get(app_name, {}).values():
            mine.pop(session_id, None)


@IN_MEMORY.caught_by("lists_are_of_who_was_asked_for")
class ListsEveryUser(Memory):
    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        return await super().list_sessions(app_name=app_name)


@IN_MEMORY.caught_by("lists_are_of_who_was_asked_for")
class ListsWithTheEvents(Memory):
    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        listed = await super().list_sessions(app_name=app_name, user_id=user_id)
        for one in listed.sessions:
            one.events = list(self.sessions[one.app_name][one.user_id][one.id].events)
        return listed


@IN_MEMORY.caught_by("lists_are_of_who_was_asked_for")
class ListsWithoutSharedState(Memory):
    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        listed = await super().list_sessions(app_name=app_name, user_id=user_id)
        for one in listed.sessions:
            one.state = {key: value for key, value in one.state.items() if ":" not in key}
        return listed


@IN_MEMORY.caught_by("a_fork_goes_its_own_way")
class ForksTheStateOfNow(Memory):
    async def fork(self, *, events: int | None = None, **where: Any) -> Session:
        fork = await super().fork(events=events, **where)
        source = self.sessions[fork.app_name][fork.user_id][where["session_id"]]
        self.sessions[fork.app_name][fork.user_id][fork.id].state = dict(source.state)
        fork.state = dict(source.state)
        return fork


# --- races and cancellation -------------------------------------------------------------------------------------------


class Slow(Memory):
    """A right store that waits, as one in a file would, within a lock of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.lock, self.next = asyncio.Lock(), asyncio.Lock()

    async def append_event(self, session: Session, event: Event) -> Event:
        async with self.lock:
            await asyncio.sleep(0)
            return await super().append_event(session, event)

    async def append_out_of_band(self, **arguments: Any) -> Event:
        async with self.next:
            return await super().append_out_of_band(**arguments)


@IN_MEMORY.caught_by("a_race_to_create_has_one_winner")
class ChecksThenCreates(Slow):
    async def create_session(self, *, session_id: str | None = None, **where: Any) -> Session:
        if session_id in self.sessions.get(where["app_name"], {}).get(where["user_id"], {}):
            raise AlreadyExistsError(session_id)
        await asyncio.sleep(0)
        self.sessions.get(where["app_name"], {}).get(where["user_id"], {}).pop(str(session_id), None)
        return await super().create_session(session_id=session_id, **where)


@IN_MEMORY.caught_by("a_race_for_an_event_id_has_one_winner")
class ChecksIdsThenAppends(Slow):
    async def append_event(self, session: Session, event: Event) -> Event:
        stored = self.sessions.get(session.app_name, {}).get(session.user_id, {}).get(session.id)
        if stored is not None and any(one.id == event.id for one in stored.events):
            raise AlreadyExistsError(event.id)
        await asyncio.sleep(0)
        try:
            return await super().append_event(session, event)
        except AlreadyExistsError:
            return await super().append_event(session, event.model_copy(update={"id": seam.new_id()}))


@IN_MEMORY.caught_by("shared_state_is_never_overwritten")
class WritesSharedStateWhole(Slow):
    async def append_event(self, session: Session, event: Event) -> Event:
        before = dict(self.app_state.get(session.app_name, {}))
        await asyncio.sleep(0)
        delta = event.touched_actions.state_delta if event.touched_actions else {}
        mine = {key.removeprefix("app:"): value for key, value in delta.items() if key.startswith("app:")}
        event = await super().append_event(session, event)
        if mine:
            merged = {**before, **mine}
            self.app_state[session.app_name] = {key: value for key, value in merged.items() if value is not None}
        return event


@IN_MEMORY.caught_by("a_deletion_ends_a_session")
class BringsADeletedSessionBack(Slow):
    async def append_event(self, session: Session, event: Event) -> Event:
        mine = self.sessions.get(session.app_name, {}).get(session.user_id, {})
        stored = mine.get(session.id)
        await asyncio.sleep(0)
        if stored is not None:
            mine[session.id] = stored
        return await super().append_event(session, event)


@IN_MEMORY.caught_by("a_cancellation_at_any_await_leaves_a_whole_append")
class ShowsWhatIsNotStored(Slow):
    """The view has the state before the store has the event."""

    async def append_event(self, session: Session, event: Event) -> Event:
        if event.touched_actions and not event.partial:
            session.state.update({k: v for k, v in event.actions.state_delta.items() if v is not None})
        return await super().append_event(session, event)


@IN_MEMORY.caught_by("a_cancellation_at_any_await_leaves_a_whole_append")
class WritesStateAfterAnAwait(Slow):
    async def append_event(self, session: Session, event: Event) -> Event:
        if event.partial or not event.touched_actions:
            return await super().append_event(session, event)
        delta = event.actions.state_delta
        bare = event.model_copy(update={"actions": EventActions()})
        await super().append_event(session, bare)
        await asyncio.sleep(0)
        stored = self.sessions[session.app_name][session.user_id][session.id]
        self._apply(stored, dict(delta))
        session.state.update(delta)
        return event


@IN_MEMORY.caught_by("a_deleted_session_takes_nothing")
class TakesAnOldViewForTheNewSession(Memory):
    async def append_event(self, session: Session, event: Event) -> Event:
        session.number = 0
        return await super().append_event(session, event)


@IN_MEMORY.caught_by("what_is_refused_changes_nothing")
class StoresAResultWithoutItsCall(Memory):
    async def append_event(self, session: Session, event: Event) -> Event:
        author, event.author = event.author, "user"
        try:
            return await super().append_event(session, event)
        finally:
            if type(event) is Event:
                event.author = author


# --- two services, two processes, crashes -----------------------------------------------------------------------------


@IN_A_FILE.caught_by("who_was_outrun_is_told_once")
class WritesThroughStaleViews(File):
    async def append_event(self, session: Session, event: Event) -> Event:
        while True:
            try:
                return await super().append_event(session, event)
            except StaleSessionError:
                continue


@IN_A_FILE.caught_by("two_services_store_an_event_once")
class KnowsIdsOfItsOwnOnly(File):
    def __init__(self, path: Any) -> None:
        super().__init__(path)
        self._seen: set[tuple[str, str]] = set()

    async def append_event(self, session: Session, event: Event) -> Event:
        try:
            stored = await super().append_event(session, event)
        except AlreadyExistsError:
            if (session.id, event.id) in self._seen:
                raise
            stored = await super().append_event(session, event.model_copy(update={"id": seam.new_id()}))
        self._seen.add((session.id, event.id))
        return stored


@IN_A_FILE.caught_by("a_kill_leaves_a_whole_append")
class WritesTheStateAfterTheEvent(File):
    async def append_event(self, session: Session, event: Event) -> Event:
        if event.partial or not event.touched_actions or not event.actions.state_delta:
            return await super().append_event(session, event)
        delta = dict(event.actions.state_delta)
        stored = await super().append_event(session, event.model_copy(update={"actions": EventActions()}))
        await self._write_state(session, delta)
        return stored

    async def _write_state(self, session: Session, delta: dict[str, Any]) -> None:
        where = {"app_name": session.app_name, "user_id": session.user_id}
        name = f"state of {session.id} {seam.new_id()}"
        await super().create_session(**where, session_id=name, state={k: v for k, v in delta.items() if ":" in k})
        await super().delete_session(**where, session_id=name)


@IN_A_FILE.caught_by("a_kill_leaves_a_whole_append")
class AcknowledgesBeforeItWrites(File):
    """The answer comes while the event is still on its way to the file."""

    def __init__(self, path: Any) -> None:
        super().__init__(path)
        self._writes: set[asyncio.Task[object]] = set()

    async def append_event(self, session: Session, event: Event) -> Event:
        if event.partial:
            return event
        write = asyncio.ensure_future(self._later(copy(session), event.model_copy()))
        self._writes.add(write)
        write.add_done_callback(self._writes.discard)
        return event

    async def _later(self, session: Session, event: Event) -> None:
        await asyncio.sleep(0.05)
        await super().append_event(session, event)


@IN_A_FILE.caught_by("a_deletion_reaches_every_service")
class RemembersDeletedSessions(File):
    """What this service has opened once stays there for it."""

    def __init__(self, path: Any) -> None:
        super().__init__(path)
        self._opened: dict[tuple[str, ...], Session] = {}

    async def open(self, **where: Any) -> Session | None:
        session = await super().open(**where)
        key = tuple(map(str, where.values()))
        if session is None:
            return self._opened.get(key)
        self._opened[key] = session
        return session

    async def create_session(self, **where: Any) -> Session:
        session = await super().create_session(**where)
        self._opened[session.app_name, session.user_id, session.id] = session
        return session

    async def delete_session(self, **where: Any) -> None:
        self._opened.pop(tuple(map(str, where.values())), None)
        await super().delete_session(**where)


@IN_A_FILE.caught_by("a_race_for_a_lease_has_one_winner")
class ChecksThenClaims(File):
    async def claim(self, *, owner: str, ttl: float, **where: Any) -> Session | None:
        return await super().claim(owner="anyone", ttl=ttl, **where)


@IN_A_FILE.caught_by("a_late_holder_is_fenced")
class ForgetsTheFence(File):
    async def append_event(self, session: Session, event: Event) -> Event:
        try:
            return await super().append_event(session, event)
        except FencedError:
            session = await self.open(app_name=session.app_name, user_id=session.user_id, session_id=session.id)  # type: ignore[assignment]
            return await super().append_event(session, event)


@IN_A_FILE.caught_by("out_of_band_disturbs_nobody")
class DisturbsARun(File):
    async def append_out_of_band(self, *, event: Event, after: int | None = None, **where: Any) -> Event:
        if after is not None:
            return await super().append_out_of_band(event=event, after=after, **where)
        session = await super().get_session(**where)
        if session is None:
            raise SessionNotFoundError(str(where))
        return await super().append_event(session, event)


@IN_A_FILE.caught_by("two_services_have_one_next_event")
class LooksThenAppends(File):
    async def append_out_of_band(self, *, event: Event, after: int | None = None, **where: Any) -> Event:
        if after is not None and len(await super().tail(after=0, **where)) != after:
            raise StaleSessionError("others were first")
        return await super().append_out_of_band(event=event, **where)


@IN_A_FILE.caught_by("a_new_service_reads_the_same")
class KeepsStateInTheService(File):
    """``user:`` is kept in this service's memory."""

    def __init__(self, path: Any) -> None:
        super().__init__(path)
        self._users: dict[str, Any] = {}

    async def append_event(self, session: Session, event: Event) -> Event:
        if event.touched_actions and not event.partial:
            delta = event.actions.state_delta
            for key in [key for key in delta if key.startswith("user:")]:
                self._users[key] = session.state[key] = delta.pop(key)
        return await super().append_event(session, event)


@IN_A_FILE.caught_by("processes_that_append_at_once_agree")
class TakesALockOfItsProcess(File):
    """A number of its own for each process: what another has written meanwhile is overwritten."""

    async def append_event(self, session: Session, event: Event) -> Event:
        try:
            return await super().append_event(session, event)
        except StaleSessionError:
            return event  # "somebody else has written it"
