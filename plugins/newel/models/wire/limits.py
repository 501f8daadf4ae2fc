"""Limits: how long a call may take and how much an answer may hold, and whether the network may be used at all."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from newel_kernel import Key
from newel_types import HttpOptions

_LOCAL = ("127.0.0.1", "localhost", "::1")
_TRUE = ("1", "true", "yes", "on")


@dataclass(frozen=True, slots=True)
class Limits:
    """Times in seconds. `idle` bounds the wait for the first byte and between two bytes."""

    connect: float = 10.0
    idle: float = 120.0
    total: float = 600.0
    response_bytes: int = 16_000_000

    def for_call(self, options: HttpOptions | None) -> Limits:
        """These limits, except that the ``timeout`` (milliseconds) of the request's options wins over all times."""
        if options is None or not options.timeout:
            return self
        seconds = options.timeout / 1000
        return replace(self, connect=min(self.connect, seconds), idle=seconds, total=seconds)

    def timeout(self, library: str) -> Any:
        """As a Timeout of ``httpx`` or ``httpx2``."""
        return import_module(library).Timeout(self.idle, connect=self.connect, pool=None)


#: On a request: the limits that the composition sets.
LIMITS = Key[Limits]("limits")
#: On a request: the composition's policies wrap this call.
POLICED = Key[bool]("policed")


def offline_reason(host: str) -> str | None:
    """Why no request may go to `host`; None if it may. NEWEL_OFFLINE=1 allows only this machine's own addresses."""
    if host in _LOCAL or os.environ.get("NEWEL_OFFLINE", "").strip().lower() not in _TRUE:
        return None
    return f"NEWEL_OFFLINE is set, so nothing is sent to {host}; unset it to use the network"
