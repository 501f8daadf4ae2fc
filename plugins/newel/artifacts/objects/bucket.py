"""The contract of a bucket: what artifacts need of an object store."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

#: What is larger goes up and comes down in parts of this size, each with its own time limit and tries.
PART_BYTES = 8 * 1024 * 1024


class Entry(NamedTuple):
    """An object in a listing, and when it was written, by the store's clock in seconds since the epoch."""

    key: str
    modified: float


class Bucket(ABC):
    """Objects by key. Listings show what was acknowledged.

    Where the store cannot be reached, each call raises ArtifactStoreUnavailableError after its patience.
    """

    @abstractmethod
    def uri(self, key: str) -> str:
        """The address of an object, without credentials."""

    @abstractmethod
    async def put(self, key: str, data: bytes, content_type: str) -> None:
        """Write an object, in parts where it is large."""

    @abstractmethod
    async def put_new(self, key: str, data: bytes, content_type: str) -> None:
        """Write a small object where there is none of that key; else raise Taken."""

    @abstractmethod
    async def get(self, key: str, size: int = 0) -> bytes | None:
        """An object, or None; one that is known to be large is read in parts."""

    @abstractmethod
    async def entries(self, prefix: str, most: int | None = None) -> list[Entry]:
        """The objects whose keys begin so, by key; at most `most`."""

    @abstractmethod
    async def folders(self, prefix: str) -> list[str]:
        """What follows `prefix` up to a slash, in the keys that have one there, each once."""

    @abstractmethod
    async def delete(self, keys: Sequence[str]) -> None:
        """Delete objects; keys that are not there are ignored."""

    async def unfinished(self, prefix: str, before: float, *, delete: bool) -> list[str]:
        """The keys of uploads in parts that were begun before a time and never ended; ended where asked."""
        return []

    @abstractmethod
    async def close(self) -> None:
        """Close the connections; the next call opens others."""
