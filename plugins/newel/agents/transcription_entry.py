"""TranscriptionEntry: a piece of a live turn that waits to be transcribed."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from newel_types import Content
from newel_types import Blob


class TranscriptionEntry(BaseModel):
    """What was said, sound or text, and by whom: 'user', 'model', or None for tool calls and results."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    role: str | None = None
    data: Blob | Content
