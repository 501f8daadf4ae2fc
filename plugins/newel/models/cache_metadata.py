"""CacheMetadata: what a response says of the context cache behind it."""

from newel_types import CacheMetadata

__all__ = ["CacheMetadata"]
