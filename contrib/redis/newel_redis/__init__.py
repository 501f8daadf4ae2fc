"""A cache in Redis in front of a durable store of sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel_redis.service import cached as cached
    from newel_redis.service import opened as opened

__getattr__, __dir__ = lazy_exports(__name__, {"cached": "newel_redis.service", "opened": "newel_redis.service"})
