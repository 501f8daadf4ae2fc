"""The contract of a session store."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

from newel_kernel._internal.events import Event, freeze_event
from newel_kernel._internal.session import Session
from newel_kernel._internal.state import apply_delta
from newel_kernel._internal.values import Json
from newel_types import deep_copy


@dataclass(slots=True, kw_only=True)
class GetSessionConfig:
    """Which events to load: the last `num_recent_events`, and those at or after `after_timestamp` (seconds)."""

    num_recent_events: int | None = None
    after_timestamp: float | None = None

    def select(self, events: Sequence[Event]) -> list[Event]:
        """The events asked for, in order: of the last `num_recent_events`, those of `after_timestamp` and later."""
        result = list(events)
        if self.num_recent_events is not None:
            result = result[-self.num_recent_events :] if self.num_recent_events > 0 else []
        if self.after_timestamp is not None:
            result = [e for e in result if e.timestamp >= self.after_timestamp]
        return result


@dataclass(slots=True, kw_only=True)
class ListSessionsResponse:
    """Sessions without their events."""

    sessions: list[Session] = field(default_factory=list)


class BaseSessionService(ABC):
    """A store of sessions. A subclass persists an event first and then calls ``super().append_event``."""

    @abstractmethod
    async def create_session(
        self, *, app_name: str, user_id: str, state: Json | None = None, session_id: str | None = None
    ) -> Session:
        """A new session; `state` may hold ``app:`` and ``user:`` keys, stored in their own scope.

        Raises AlreadyExistsError if a session of that id exists.
        """

    @abstractmethod
    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """The session, as a copy that belongs to the caller, or None."""

    @abstractmethod
    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """The sessions of a user (of every user if `user_id` is None), without their events."""

    @abstractmethod
    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Delete a session with its events; unknown ids are ignored."""

    async def open(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """The session as a runner works with it: a live view without a copy, if the store keeps one."""
        return await self.get_session(app_name=app_name, user_id=user_id, session_id=session_id, config=config)

    async def append_event(self, session: Session, event: Event) -> Event:
        """Commit `event` and apply it to `session`. A partial event is returned unchanged.

        This base method applies an event that the store has committed: the state takes its delta, ``temp:`` keys
        are dropped from the delta, and the event is frozen.
        """
        if event.partial:
            return event
        apply_to_state(session.state, event)
        trim_temp(event)
        freeze_event(event)
        session.events.append(event)
        session.version += 1
        session.last_update_time = event.timestamp
        return event

    async def close(self) -> None:  # noqa: B027 - a store in memory holds nothing
        """Release what the store holds."""


def apply_to_state(state: Json, event: Event) -> None:
    """Write the event's state delta into a live state, which must not share values with the event; None removes."""
    actions = event.touched_actions
    if actions is not None and actions.state_delta:
        apply_delta(state, deep_copy(actions.state_delta))


def trim_temp(event: Event) -> None:
    """Take the ``temp:`` keys out of the delta that will be stored."""
    actions = event.touched_actions
    if actions is not None and actions.state_delta:
        for key in [key for key in actions.state_delta if key.startswith("temp:")]:
            del actions.state_delta[key]
