"""Load: what a process of the server is doing, and whether it is about to end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True)
class Load:
    """The work of one process, whatever apps it serves."""

    #: Requests that run an agent.
    runs: int = 0
    #: Whether a signal has come: what runs may end, and nothing new begins.
    draining: bool = False
    #: Called when the last run has ended, once the server is about to end.
    on_idle: Callable[[], None] | None = None

    def end(self) -> None:
        """A run has ended."""
        self.runs -= 1
        if not self.runs and self.on_idle is not None:
            self.on_idle()


LOAD = Load()
