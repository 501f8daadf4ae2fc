"""CacheMetadata: what a response says of the context cache behind it."""

from newel_kernel.types.cache_metadata import CacheMetadata

__all__ = ["CacheMetadata"]
