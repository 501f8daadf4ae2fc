"""What the offline models share: reading a request, reading schemas, making responses, and speaking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.models.offline.live import connected as connected

__getattr__, __dir__ = lazy_exports(__name__, {"connected": "newel.models.offline.live"})
