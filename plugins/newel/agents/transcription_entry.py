"""TranscriptionEntry: a piece of a live turn that waits to be transcribed."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from newel_types import Blob, Content


class TranscriptionEntry(BaseModel):
    """Sound or text, and its speaker: 'user', 'model', or None for tool calls and results."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    role: str | None = None
    data: Blob | Content
