"""prompt_caching: lets providers that cache marked prefixes of a prompt do so, without a setting of the app.

What an app says in its `ContextCacheConfig` is stronger. Providers that cache by themselves need no marks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel

from newel.models.kinds import Attempt, ModelPolicy
from newel.models.wire.cache_marks import LIFETIME
from newel_kernel import hookimpl


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of prompt caching."""

    #: For how long a prefix is kept from its last use. The longer time costs more to write.
    lifetime: Literal["5m", "1h"] = "5m"


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_model_call_policies(settings: Mapping[str, Settings]) -> list[ModelPolicy]:
    """The policy `prompt_caching`."""
    lifetime = settings["prompt_caching"].lifetime

    def begin(attempt: Attempt) -> None:
        attempt.request.stash[LIFETIME] = lifetime

    return [ModelPolicy(name="prompt_caching", begin=begin)]
