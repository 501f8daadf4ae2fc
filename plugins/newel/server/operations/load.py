"""Load: what a process of the server is doing, and whether it is about to end."""

from __future__ import annotations

from dataclasses import dataclass

#: What a client is told that asks for a run while the server is about to end, and when it may ask again.
DRAINING = "the server is about to end: try again"
RETRY_AFTER = "5"


@dataclass(slots=True)
class Load:
    """The work of one process, whatever apps it serves."""

    #: Requests that run an agent.
    runs: int = 0
    #: Whether a signal has come: what runs may end, and nothing new begins.
    draining: bool = False


LOAD = Load()
