"""A cache in Redis in front of a durable store of sessions, a bus on which other processes follow a run, and limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel_redis.bus import Bus as Bus
    from newel_redis.bus import Publisher as Publisher
    from newel_redis.limits import RedisGates as RedisGates
    from newel_redis.service import cached as cached
    from newel_redis.service import opened as opened
    from newel_redis.service import parted as parted

_WHERE = {
    "Bus": "newel_redis.bus",
    "Publisher": "newel_redis.bus",
    "RedisGates": "newel_redis.limits",
    "cached": "newel_redis.service",
    "opened": "newel_redis.service",
    "parted": "newel_redis.service",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
