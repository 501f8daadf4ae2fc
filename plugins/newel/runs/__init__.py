"""Ways to drive a run: until a signal, from a thread, for one answer, on a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.runs.abort import AbortSignal as AbortSignal
    from newel.runs.abort import abortable as abortable
    from newel.runs.abort import interruptible as interruptible
    from newel.runs.services import open_services as open_services
    from newel.runs.thread import iterate as iterate
    from newel.runs.transcript import print_event as print_event

_WHERE = {
    "AbortSignal": "newel.runs.abort",
    "abortable": "newel.runs.abort",
    "interruptible": "newel.runs.abort",
    "iterate": "newel.runs.thread",
    "open_services": "newel.runs.services",
    "print_event": "newel.runs.transcript",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
