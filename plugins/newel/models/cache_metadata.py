"""CacheMetadata, by its released name."""

from newel_types import CacheMetadata

__all__ = ["CacheMetadata"]
