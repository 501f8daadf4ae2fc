"""Events and their side effects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.events.request_input import RequestInput as RequestInput
    from newel_kernel import Event as Event
    from newel_kernel import EventActions as EventActions
    from newel_kernel import EventCompaction as EventCompaction
    from newel_kernel import NodeInfo as NodeInfo

_WHERE = {
    "Event": "newel_kernel",
    "EventActions": "newel_kernel",
    "EventCompaction": "newel_kernel",
    "NodeInfo": "newel_kernel",
    "RequestInput": "newel.events.request_input",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
