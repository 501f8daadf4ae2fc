"""The settings of the plugin `auth`, and how code of an invocation finds them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from pydantic import BaseModel, Field

from newel_kernel import Chains, ReadonlyContext


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of credentials."""

    #: Do as the recorded releases do: the events of requests and answers hold what is secret in them.
    recorded: bool = False
    #: Token end points besides the public ones over https: host names, host:port, addresses, networks.
    allow_hosts: list[str] = []
    #: For one request to a token end point.
    seconds: float = Field(default=10.0, gt=0)
    #: credential_key -> the environment variable that holds the credential.
    environment: dict[str, str] = {}


DEFAULT = Settings.model_construct()  # without the validation of nothing, which would build a validator


class Composed(Protocol):
    """What has a composition: an invocation, a runner."""

    @property
    def composition(self) -> Chains:
        """The composition."""


def settings_of(owner: ReadonlyContext | Composed) -> Settings:
    """The settings that the distribution of a context (or of an invocation, a runner) has."""
    composed: Composed = owner._invocation_context if isinstance(owner, ReadonlyContext) else owner
    return settings_in(composed.composition.settings)


def settings_in(settings: Mapping[str, BaseModel]) -> Settings:
    """The settings of `auth` among those of all plugins; the default ones where it is not enabled."""
    own = settings.get("auth")
    return own if isinstance(own, Settings) else DEFAULT
