"""The contract of a bucket: the operations of an object store that artifacts need."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

#: Larger objects are uploaded and downloaded in parts of this size, each with its own time limit and tries.
PART_BYTES = 8 * 1024 * 1024


class Entry(NamedTuple):
    """An object in a listing, and when it was written, by the store's clock in seconds since the epoch."""

    key: str
    modified: float


class Bucket(ABC):
    """Objects by key. Listings show every acknowledged write.

    If the store cannot be reached, each call raises ArtifactStoreUnavailableError when its patience ends.
    """

    @abstractmethod
    def uri(self, key: str) -> str:
        """The address of an object, without credentials."""

    @abstractmethod
    async def put(self, key: str, data: bytes, content_type: str) -> None:
        """Write an object, in parts if it is large."""

    @abstractmethod
    async def put_new(self, key: str, data: bytes, content_type: str) -> None:
        """Write a small object if no object has that key; else raise KeyExistsError."""

    @abstractmethod
    async def get(self, key: str, size: int = 0) -> bytes | None:
        """The bytes of an object, or None; an object whose `size` is large is read in parts."""

    @abstractmethod
    async def entries(self, prefix: str, most: int | None = None) -> list[Entry]:
        """The objects whose keys begin with `prefix`, sorted by key; at most `most`."""

    @abstractmethod
    async def folders(self, prefix: str) -> list[str]:
        """The folder names directly below `prefix`: the text of a key from there to the next slash, each once."""

    @abstractmethod
    async def delete(self, keys: Sequence[str]) -> None:
        """Delete objects; missing keys are ignored."""

    async def unfinished(self, prefix: str, before: float, *, delete: bool) -> list[str]:
        """The keys of uploads in parts that began before a time and were never completed; aborted if asked."""
        return []

    @abstractmethod
    async def close(self) -> None:
        """Close the connections; the next call opens others."""
