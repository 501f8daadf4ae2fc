"""GeminiContextCacheManager, by its released name."""

from newel.models.google.caches import GeminiContextCacheManager

__all__ = ["GeminiContextCacheManager"]
