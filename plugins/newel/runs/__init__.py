"""Runs: runs in the background that others follow, ways to drive one, and what is closed after them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.runs.abort import AbortSignal as AbortSignal
    from newel.runs.abort import Ending as Ending
    from newel.runs.abort import abortable as abortable
    from newel.runs.abort import endable as endable
    from newel.runs.closing import close_all as close_all
    from newel.runs.registry import RunRefusedError as RunRefusedError
    from newel.runs.registry import Runs as Runs
    from newel.runs.run import Run as Run
    from newel.runs.run import RunCancelledError as RunCancelledError
    from newel.runs.run import RunStatus as RunStatus
    from newel.runs.thread import iterate as iterate

_WHERE = {
    "Run": "newel.runs.run",
    "RunCancelledError": "newel.runs.run",
    "RunRefusedError": "newel.runs.registry",
    "RunStatus": "newel.runs.run",
    "Runs": "newel.runs.registry",
    "AbortSignal": "newel.runs.abort",
    "Ending": "newel.runs.abort",
    "abortable": "newel.runs.abort",
    "endable": "newel.runs.abort",
    "close_all": "newel.runs.closing",
    "iterate": "newel.runs.thread",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
