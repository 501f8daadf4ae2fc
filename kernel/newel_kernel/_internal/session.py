"""Session: one conversation's append-only log of events and its state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Self

from newel_kernel._internal.events import Event
from newel_kernel._internal.stash import Stash
from newel_kernel._internal.values import Json
from newel_types import Record, record


class _Versioned(Record):
    """Slots for a store's notes on a session; JSON leaves them out.

    `version` counts the events this view has seen: an append states it, and the store refuses an append
    whose version is not its own. `number` distinguishes the session from earlier and later ones with the same id
    (0: unknown). `lease` is the epoch of the claim under which this view may write.
    `cache` is the stash once `stash` was used, else None; views of one conversation may share it.
    """

    __slots__ = ("cache", "lease", "number", "version")
    cache: Stash | None
    events: list[Event]
    lease: int
    number: int
    version: int

    @property
    def stash(self) -> Stash:
        """Values that plugins derive from the events and keep as long as this view exists."""
        if self.cache is None:
            self.cache = Stash()
        return self.cache

    def model_copy(self, *, update: Mapping[str, object] | None = None, deep: bool = False) -> Self:
        """A copy with its own list of events, even if this session is a live view."""
        events = [event.model_copy(deep=True) for event in self.events] if deep else list(self.events)
        new = super().model_copy(update={"events": events, **(update or {})}, deep=deep)
        new.version, new.number, new.lease, new.cache = self.version, self.number, self.lease, None
        return new

    def __reduce__(self) -> tuple[Any, ...]:
        slots = {"version": self.version, "number": self.number, "lease": self.lease, "cache": None}
        return *super().__reduce__(), (None, slots)


@record
class Session(_Versioned):
    """A view of one conversation. `events` is in append order; `state` merges the app, user and session scopes."""

    id: str
    app_name: str = ""
    user_id: str = ""
    state: Json = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    last_update_time: float = 0.0

    def __post_init__(self) -> None:
        self.version, self.number, self.lease, self.cache = len(self.events), 0, 0, None

    @property
    def session_id(self) -> str:
        """The same as `id`."""
        return self.id
