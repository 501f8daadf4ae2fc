"""The service itself: whether it is alive, and what it is."""

from __future__ import annotations

import platform

from newel.server.calls import Call
from newel.version import VERSION


async def health(_: Call) -> dict[str, str]:
    """Whether the process is alive."""
    return {"status": "ok"}


async def version(_: Call) -> dict[str, str]:
    """The versions of newel and of Python."""
    return {"version": VERSION, "language": "python", "language_version": platform.python_version()}
