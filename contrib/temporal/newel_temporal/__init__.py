"""An engine over Temporal: dispatches runs to workers on many machines, and finds them again after a crash."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel_temporal.address import Address as Address
    from newel_temporal.encryption import Encryption as Encryption
    from newel_temporal.engine import TemporalEngine as TemporalEngine

_WHERE = {
    "Address": "newel_temporal.address",
    "Encryption": "newel_temporal.encryption",
    "TemporalEngine": "newel_temporal.engine",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
