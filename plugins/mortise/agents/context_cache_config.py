"""ContextCacheConfig: how providers may cache the unchanging start of an app's requests."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class ContextCacheConfig(BaseModel):
    """Set on an App, it holds for all its LLM agents."""

    model_config = ConfigDict(extra="forbid")

    #: How many invocations may use a cache before it is made anew.
    cache_intervals: int = Field(default=10, ge=1, le=100)
    #: How long a cache lives.
    ttl_seconds: int = Field(default=1800, gt=0)
    #: The least tokens of a request (an estimate) for which a cache is made.
    min_tokens: int = Field(default=0, ge=0)

    @property
    def ttl_string(self) -> str:
        """The lifetime as a provider wants it: ``"1800s"``."""
        return f"{self.ttl_seconds}s"

    def __str__(self) -> str:
        settings = f"cache_intervals={self.cache_intervals}, ttl={self.ttl_seconds}s, min_tokens={self.min_tokens}"
        return f"ContextCacheConfig({settings})"
