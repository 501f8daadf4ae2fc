"""The plugin of delegation: agents that work for others, and what the models of their callers see of failures."""

from __future__ import annotations

from pydantic import BaseModel

from newel_kernel import hookimpl


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of delegation."""

    #: Tell the caller's model why an agent that answers once, or an agent that is a tool, failed; else the result
    #: is empty, as specified.
    tell_failures: bool = False


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings
