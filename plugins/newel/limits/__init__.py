"""Limits over all processes that share a store: runs of a tenant at a time, and calls of models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.limits.admission import NotAdmittedError as NotAdmittedError
    from newel.limits.admission import admitted as admitted
    from newel.limits.calls import LimitExceededError as LimitExceededError
    from newel.limits.gates import Gates as Gates
    from newel.limits.gates import Turn as Turn
    from newel.limits.gates import Waiting as Waiting
    from newel.limits.kinds import LimitBackend as LimitBackend
    from newel.limits.places import gates_of as gates_of

_WHERE = {
    "Gates": "newel.limits.gates",
    "LimitBackend": "newel.limits.kinds",
    "LimitExceededError": "newel.limits.calls",
    "NotAdmittedError": "newel.limits.admission",
    "Turn": "newel.limits.gates",
    "Waiting": "newel.limits.gates",
    "admitted": "newel.limits.admission",
    "gates_of": "newel.limits.places",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
