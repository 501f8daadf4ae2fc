"""ContextCacheConfig, by its released name."""

from newel.models.google.context_cache_config import ContextCacheConfig

__all__ = ["ContextCacheConfig"]
