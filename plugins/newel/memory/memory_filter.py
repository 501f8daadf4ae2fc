"""MemoryFilter: which of a user's memories a search looks at."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field


class MemoryFilter(BaseModel, defer_build=True):
    """What an entry has to have; a field that is not given asks for nothing.

    `since` and `until` include their ends, and a time without a zone is local. An entry whose timestamp is none of
    ISO 8601 is in no range. `metadata` names values that the entry's `custom_metadata` has.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    session_id: str | None = None
    author: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    metadata: dict[str, str | bool | int | float] = Field(default_factory=dict)
