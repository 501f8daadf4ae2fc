"""CacheMetadata, by its released name."""

from newel_kernel.types.cache_metadata import CacheMetadata

__all__ = ["CacheMetadata"]
