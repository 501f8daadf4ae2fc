"""The errors of a memory that is stored."""

from __future__ import annotations

from newel_kernel import ConfigurationError, NewelError


class MemoryStoreError(NewelError):
    """The memory cannot be read or written; nothing was half-written."""


class MemoryUnavailableError(MemoryStoreError):
    """Another process held the memory for too long; the same call may succeed in `retry_after` seconds."""

    def __init__(self, message: str, *, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class EmbedderMismatchError(ConfigurationError):
    """The memory has vectors of another embedder, or none; `reindex` converts them."""
