"""MemoryEntry: one thing remembered."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from newel_kernel import Json
from newel_types import Content


class MemoryEntry(BaseModel):
    """What was said, by whom, and when (`timestamp`: ISO 8601, as the model is to read it).

    The last four are set by a store that ranks, on what a search found; added entries have none of them.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, defer_build=True)

    content: Content
    custom_metadata: Json = Field(default_factory=dict)
    id: str | None = None
    author: str | None = None
    timestamp: str | None = None
    #: Higher is better, among the entries of one search.
    score: float | None = None
    #: The part of the text that matches the search.
    snippet: str | None = None
    session_id: str | None = None
    event_id: str | None = None
