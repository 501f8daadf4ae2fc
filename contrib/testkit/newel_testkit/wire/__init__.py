"""Local servers that speak the protocols of model services, and refuse what the services refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel_testkit.wire.answers import Answer as Answer
    from newel_testkit.wire.answers import common_answers as common_answers
    from newel_testkit.wire.faults import Fault as Fault
    from newel_testkit.wire.faults import fault as fault
    from newel_testkit.wire.server import WireServer as WireServer

_WHERE = {
    "Answer": "newel_testkit.wire.answers",
    "Fault": "newel_testkit.wire.faults",
    "WireServer": "newel_testkit.wire.server",
    "common_answers": "newel_testkit.wire.answers",
    "fault": "newel_testkit.wire.faults",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
