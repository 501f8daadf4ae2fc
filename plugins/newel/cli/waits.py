"""Waits: what a turn waits for, shown on a terminal once it takes long."""

from __future__ import annotations

import asyncio
import sys

from newel.cli.terminal import status
from newel_kernel import Event, seam

#: Seconds after which a wait is worth a line.
_LONG = 2.0
_MODEL = "the model"


class Waits:
    """The tool calls of a turn that have no result yet, else the model; the longest wait is the one shown."""

    def __init__(self) -> None:
        self._since: dict[str, tuple[str, float]] = {"": (_MODEL, seam.monotonic())}

    def note(self, event: Event) -> None:
        """Look at one event."""
        self._since.pop("", None)
        for call in event.get_function_calls():
            if call.id not in (event.long_running_tool_ids or ()):
                self._since[str(call.id)] = (str(call.name), seam.monotonic())
        for response in event.get_function_responses():
            self._since.pop(str(response.id), None)
        if not self._since:
            self._since[""] = (_MODEL, seam.monotonic())

    def line(self) -> str:
        """``waiting for search, 12 s (and 2 more)``, or empty."""
        longest = min(self._since.values(), key=lambda wait: wait[1])
        seconds = seam.monotonic() - longest[1]
        if seconds < _LONG:
            return ""
        others = len(self._since) - 1
        return f"… waiting for {longest[0]}, {seconds:.0f} s" + (f" (and {others} more)" if others else "")

    async def show(self) -> None:
        """Keep the line up to date until cancelled."""
        if not sys.stdout.isatty():
            return
        try:
            while True:
                await asyncio.sleep(1)
                status(self.line())
        finally:
            status("")
