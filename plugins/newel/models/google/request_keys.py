"""Request keys: the values that processors pass to Gemini in the stash of a request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_kernel import Key

if TYPE_CHECKING:
    from newel.models.google.context_cache_config import ContextCacheConfig
    from newel_types import CacheMetadata

#: How the app caches requests.
CACHE_CONFIG: Key[ContextCacheConfig | None] = Key("cache config")
#: The cache metadata of the agent's latest answer.
CACHE_METADATA: Key[CacheMetadata | None] = Key("cache metadata")
#: How many tokens the agent's latest prompt had.
CACHEABLE_TOKENS: Key[int | None] = Key("cacheable tokens")
#: How many seconds usually pass between the agent's requests; a cache is then made only if it pays. None: it is made.
CACHE_GAP: Key[float | None] = Key("seconds between requests")
#: How many of the request's contents are in the cache that it names.
CACHED_CONTENTS: Key[int] = Key("cached contents")
#: A key that separates the prompts of one app, user and agent from those of others, without naming them.
CACHE_SCOPE: Key[str | None] = Key("cache scope")
#: The id of the interaction that the request continues.
PREVIOUS_INTERACTION: Key[str | None] = Key("previous interaction")
