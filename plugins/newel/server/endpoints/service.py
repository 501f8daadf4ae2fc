"""The service itself: whether it is alive, and what it is."""

from __future__ import annotations

import platform
from typing import Literal

from pydantic import BaseModel

from newel.server.calls import Call, endpoint
from newel.version import VERSION


class Health(BaseModel):
    """A process that is alive."""

    status: Literal["ok"]


class Versions(BaseModel):
    """What serves."""

    version: str
    language: str
    language_version: str


@endpoint(answer=Health)
async def health(_: Call) -> dict[str, str]:
    """Whether the process is alive."""
    return {"status": "ok"}


@endpoint(answer=Versions)
async def version(_: Call) -> dict[str, str]:
    """The versions of newel and of Python."""
    return {"version": VERSION, "language": "python", "language_version": platform.python_version()}
