"""ContextCacheConfig: how providers may cache the unchanging start of an app's requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ConfigDict, Field

from newel_types import OneLineErrors, late

if TYPE_CHECKING:
    from newel_types import HttpOptions
else:
    HttpOptions = late("http:HttpOptions")


class ContextCacheConfig(OneLineErrors):
    """Set on an App, it applies to all its LLM agents whose model's provider can cache; the others ignore it."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    #: How many invocations may use a cache before it is made again.
    cache_intervals: int = Field(default=10, ge=1, le=100)
    #: How long a cache lives.
    ttl_seconds: int = Field(default=1800, gt=0)
    #: The least tokens of the agent's last prompt for which a cache is made. The service has a minimum of its own.
    min_tokens: int = Field(default=0, ge=0)
    #: For the call that makes a cache. After its `timeout`, in milliseconds, the request is sent without a cache.
    create_http_options: HttpOptions | None = None

    @property
    def ttl_string(self) -> str:
        """The lifetime as a provider wants it: ``"1800s"``."""
        return f"{self.ttl_seconds}s"

    def __str__(self) -> str:
        settings = f"cache_intervals={self.cache_intervals}, ttl={self.ttl_seconds}s, min_tokens={self.min_tokens}"
        if self.create_http_options is not None:  # its headers may hold credentials
            settings += ", create_http_options=..."
        return f"ContextCacheConfig({settings})"
