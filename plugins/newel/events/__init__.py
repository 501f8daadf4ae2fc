"""Events and their side effects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_kernel.lazy import lazy_exports

if TYPE_CHECKING:
    from newel.events.request_input import RequestInput as RequestInput
    from newel_kernel.events import Event as Event
    from newel_kernel.events import EventActions as EventActions
    from newel_kernel.events import EventCompaction as EventCompaction
    from newel_kernel.events import NodeInfo as NodeInfo

_WHERE = {
    "Event": "newel_kernel.events",
    "EventActions": "newel_kernel.events",
    "EventCompaction": "newel_kernel.events",
    "NodeInfo": "newel_kernel.events",
    "RequestInput": "newel.events.request_input",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
