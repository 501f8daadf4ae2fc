"""The settings of limits."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, Field

#: Stands for each one that has no entry of its own.
EACH = "*"


class Bounds(BaseModel, extra="forbid", defer_build=True):
    """How many at a time, and how often."""

    #: Of a tenant: its runs at a time. Of a model: its calls at a time.
    concurrency: int | None = Field(default=None, ge=1, le=1_000_000)
    #: Calls of models that begin within a second, evenly spread.
    calls_per_second: float | None = Field(default=None, gt=0, le=1_000_000)


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of limits, which hold over all processes that share a store of sessions. Without any, nothing waits."""

    #: By tenant, as a run's submission names it; ``*`` is for each other one. Runs without a tenant have no limit.
    tenants: dict[str, Bounds] = Field(default_factory=dict)
    #: By the model's name as a request has it; ``*`` is for each other one.
    models: dict[str, Bounds] = Field(default_factory=dict)
    #: How many seconds a place is kept for a process that gives no sign.
    lease_seconds: float = Field(default=30.0, ge=1, le=3_600)
    #: How many seconds a call of a model waits for its turn, before it fails.
    wait_seconds: float = Field(default=120.0, gt=0, le=3_600)


def bounds_of(bounds: Mapping[str, Bounds], name: str) -> Bounds | None:
    """The bounds that hold for a name; None: it has none."""
    return (bounds.get(name) or bounds.get(EACH)) if name else None
