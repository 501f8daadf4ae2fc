"""The settings of engines."""

from __future__ import annotations

from pydantic import BaseModel, Field


class Settings(BaseModel, extra="forbid", defer_build=True):
    """What all runs of this distribution's apps have."""

    #: The version of the apps: a run waits for a worker that has the version with which it was submitted.
    version: str = Field(default="", max_length=100)
