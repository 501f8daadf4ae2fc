"""CacheMetadata: what a response says about the context cache that it used."""

import time
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

_SOON_SECONDS = 120


#: JSON schemas of the fields that are set together, or none of them is.
_OF_CACHE: dict[str, JsonValue] = {
    "cache_name": {"type": "string"},
    "expire_time": {"type": "number"},
    "invocations_used": {"type": "integer"},
}
_TOGETHER: list[JsonValue] = [
    {"required": [*_OF_CACHE], "properties": _OF_CACHE},
    {"properties": {name: {"type": "null"} for name in _OF_CACHE}},
]


class CacheMetadata(BaseModel):
    """A cache that was used; or, without a `cache_name`, only the fingerprint of what one could hold."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, from_attributes=True, defer_build=True, json_schema_extra={"anyOf": _TOGETHER}
    )

    #: The provider's name of the cache.
    cache_name: str | None = None
    #: Seconds since the epoch.
    expire_time: float | None = None
    #: A hash of the instruction, the tools and the contents that are cached, or could be.
    fingerprint: str
    invocations_used: int | None = Field(default=None, ge=0)
    #: The number of contents in the cache; without a cache, that of the request.
    contents_count: int = Field(ge=0)
    #: Seconds since the epoch.
    created_at: float | None = None

    @model_validator(mode="after")
    def _all_or_none(self) -> Self:
        if len({value is None for value in (self.cache_name, self.expire_time, self.invocations_used)}) > 1:
            raise ValueError("cache_name, expire_time and invocations_used are set together, or none of them is")
        return self

    @property
    def expire_soon(self) -> bool:
        """Whether the cache expires within two minutes."""
        return self.expire_time is not None and time.time() > self.expire_time - _SOON_SECONDS

    def __str__(self) -> str:
        if self.cache_name is None or self.expire_time is None:
            return f"no cache, {self.contents_count} contents, fingerprint {self.fingerprint[:8]}"
        minutes = (self.expire_time - time.time()) / 60
        return (
            f"cache {self.cache_name.rpartition('/')[2]}: {self.contents_count} contents, used "
            f"{self.invocations_used} times, expires in {minutes:.1f} min"
        )
