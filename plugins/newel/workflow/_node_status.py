"""NodeStatus: where a node is in its life."""

from __future__ import annotations

from enum import Enum


class NodeStatus(Enum):
    """Where a node is in its life."""

    INACTIVE = 0
    PENDING = 1
    RUNNING = 2
    COMPLETED = 3
    #: It asked for input that has not come; or, without interrupts, it waits to be triggered again.
    WAITING = 4
    FAILED = 5
    CANCELLED = 6
