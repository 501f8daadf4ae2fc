"""The settings of agents."""

from __future__ import annotations

from pydantic import BaseModel

PLUGIN = "agents"


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of agents."""

    #: Stop the other sub-agents of a ParallelAgent once one has escalated, as google-adk does since 2.8.
    stop_siblings: bool = True
