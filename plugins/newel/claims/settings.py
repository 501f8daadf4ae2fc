"""The settings of claims."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from newel_kernel import Chains


class Settings(BaseModel, extra="forbid", defer_build=True):
    """What happens if a session already has a run."""

    #: The second run is refused (SessionBusyError), waits for the end of the first, or ends it; or its message is
    #: stored at once and told to the agent of the first before its next model call.
    busy: Literal["refuse", "queue", "interrupt", "steer"] = "refuse"
    #: How long a run waits for another one's end, in seconds; then it is refused.
    wait_seconds: float = Field(default=60.0, gt=0, le=86_400)
    #: How long a store keeps the session for a process that no longer gives a sign, in seconds.
    lease_seconds: float = Field(default=10.0, ge=0.1, le=86_400)


def steers(chains: Chains) -> bool:
    """Whether a message to a session that a run has steers that run."""
    return chains.settings_of("claims", Settings).busy == "steer"
