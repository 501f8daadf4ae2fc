"""Events and their side effects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mortise_kernel.lazy import lazy_exports

if TYPE_CHECKING:
    from mortise.events.request_input import RequestInput as RequestInput
    from mortise_kernel.events import Event as Event
    from mortise_kernel.events import EventActions as EventActions
    from mortise_kernel.events import EventCompaction as EventCompaction
    from mortise_kernel.events import NodeInfo as NodeInfo

_WHERE = {
    "Event": "mortise_kernel.events",
    "EventActions": "mortise_kernel.events",
    "EventCompaction": "mortise_kernel.events",
    "NodeInfo": "mortise_kernel.events",
    "RequestInput": "mortise.events.request_input",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
