"""The settings of the plugin `auth`, and how code in an invocation finds them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from pydantic import BaseModel, Field

from newel_kernel import Chains, ReadonlyContext


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of credentials."""

    #: Behave as the recorded releases do: the events of requests and answers hold their secrets.
    recorded: bool = False
    #: Token endpoints allowed in addition to public ones over https: host names, host:port, addresses, networks.
    allow_hosts: list[str] = []
    #: Time limit of one request to a token endpoint.
    seconds: float = Field(default=10.0, gt=0)
    #: credential_key -> the environment variable that holds the credential.
    environment: dict[str, str] = {}


DEFAULT = Settings.model_construct()  # skips validation, which would build a validator for no values


class Composed(Protocol):
    """An object with a composition: an invocation or a runner."""

    @property
    def composition(self) -> Chains:
        """The composition."""


def settings_of(owner: ReadonlyContext | Composed) -> Settings:
    """The settings in the distribution of a context, an invocation or a runner."""
    composed: Composed = owner._invocation_context if isinstance(owner, ReadonlyContext) else owner
    return settings_in(composed.composition.settings)


def settings_in(settings: Mapping[str, BaseModel]) -> Settings:
    """The settings of `auth` among those of all plugins; the defaults if it is not enabled."""
    own = settings.get("auth")
    return own if isinstance(own, Settings) else DEFAULT
