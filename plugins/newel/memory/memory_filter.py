"""MemoryFilter: which of a user's memories a search looks at."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field, field_validator


class MemoryFilter(BaseModel, defer_build=True):
    """The conditions on an entry; a field that is not given sets none.

    `since` and `until` include their ends, and a time without a zone is local. An entry whose timestamp is not
    ISO 8601 is in no range. `metadata` names values that the entry's `custom_metadata` has.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    session_id: str | None = None
    author: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    metadata: dict[str, str | bool | int | float] = Field(default_factory=dict)

    @field_validator("since", "until")
    @classmethod
    def _in_seconds(cls, time: datetime | None) -> datetime | None:
        try:
            if time is not None:
                time.timestamp()
        except (ValueError, OverflowError, OSError) as error:
            raise ValueError("this local time does not exist: leave it out, or give it with a zone") from error
        return time

    def admits(
        self, *, session_id: str | None, author: str | None, at: float | None, metadata: Mapping[str, object]
    ) -> bool:
        """Whether an entry of that session, author, time (seconds since the epoch) and metadata meets them all."""
        return (
            (self.session_id is None or session_id == self.session_id)
            and (self.author is None or author == self.author)
            and (self.since is None or (at is not None and at >= self.since.timestamp()))
            and (self.until is None or (at is not None and at <= self.until.timestamp()))
            and all(key in metadata and same_value(metadata[key], value) for key, value in self.metadata.items())
        )


def same_value(one: object, other: object) -> bool:
    """Whether two values are the same in JSON: True is not a number, and 1.0 equals 1."""
    return isinstance(one, bool) == isinstance(other, bool) and one == other
