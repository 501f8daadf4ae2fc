"""Local servers that speak the protocols of model services, and refuse what the services refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.testing.wire.answers import Answer as Answer
    from newel.testing.wire.answers import common_answers as common_answers
    from newel.testing.wire.faults import Fault as Fault
    from newel.testing.wire.faults import fault as fault
    from newel.testing.wire.server import WireServer as WireServer

_WHERE = {
    "Answer": "newel.testing.wire.answers",
    "Fault": "newel.testing.wire.faults",
    "WireServer": "newel.testing.wire.server",
    "common_answers": "newel.testing.wire.answers",
    "fault": "newel.testing.wire.faults",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
