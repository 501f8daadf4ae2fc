"""Runs on many machines over DBOS: its queues in PostgreSQL hand invocations to workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel_dbos.engine import DbosEngine as DbosEngine

_WHERE = {"DbosEngine": "newel_dbos.engine"}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
