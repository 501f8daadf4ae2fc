"""Load: what a process of the server is doing, and whether it is about to end."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Load:
    """The work of one process, whatever apps it serves."""

    #: Live runs, which belong to their connections.
    live: int = 0
    #: Streams of this process's runs, whose readers may be behind.
    streams: int = 0
    #: Whether a signal has come: what runs may end, and nothing new begins.
    draining: bool = False


LOAD = Load()
