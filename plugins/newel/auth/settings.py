"""The settings of the plugin `auth`, and how code of an invocation finds them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from newel_kernel import ReadonlyContext


class Settings(BaseModel, extra="forbid"):
    """Settings of credentials."""

    #: Do as the recorded releases do: the events of requests and answers hold what is secret in them.
    recorded: bool = False
    #: Token end points besides the public ones over https: host names, host:port, addresses, networks.
    allow_hosts: list[str] = Field(default_factory=list)
    #: For one request to a token end point.
    seconds: float = Field(default=10.0, gt=0)
    #: credential_key -> the environment variable that holds the credential.
    environment: dict[str, str] = Field(default_factory=dict)


DEFAULT = Settings()


def settings_of(context: ReadonlyContext | Any) -> Settings:
    """The settings that the distribution of a context (or of an invocation) has."""
    ctx: Any = getattr(context, "_invocation_context", context)
    found = ctx.composition.settings.get("auth")
    return found if isinstance(found, Settings) else DEFAULT
