"""Connections: one object per event loop, made again in a forked child."""

from __future__ import annotations

from newel.connections.per_loop import PerLoop

__all__ = ["PerLoop"]
