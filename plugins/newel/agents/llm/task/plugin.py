"""delegation: how agents and the sub-agents that work for them get along."""

from __future__ import annotations

from pydantic import BaseModel

from newel_kernel import hookimpl


class Settings(BaseModel, extra="forbid"):
    """Settings of delegation."""

    #: Tell the caller's model why an agent that answers once, or one that is a tool, failed; else the result is
    #: empty, as specified.
    tell_failures: bool = False


@hookimpl
def register_settings() -> type[BaseModel]:
    """The settings."""
    return Settings
