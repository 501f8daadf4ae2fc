"""Embedding: what every memory with vectors requires of its embedder, and of the vectors that it makes."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence

from newel.memory.embedder import Embedder
from newel.memory.errors import EmbedderMismatchError, MemoryStoreError
from newel_kernel import ConfigurationError

_LARGEST = 8192


def check_embedder(embedder: Embedder) -> None:
    """Raise ConfigurationError if an embedder does not say what its vectors are."""
    if not isinstance(embedder, Embedder):
        raise ConfigurationError(f"{type(embedder).__name__} is not an Embedder: it must be a subclass")
    if not isinstance(embedder.name, str) or not embedder.name:
        raise ConfigurationError(f"the embedder {type(embedder).__name__} has no name: the name identifies its vectors")
    if not 0 < embedder.dimension <= _LARGEST or embedder.dimension % 8:
        raise ConfigurationError(
            f"the embedder {embedder.name!r} has {embedder.dimension} dimensions: it must have a multiple of 8, up to "
            f"{_LARGEST}"
        )
    if embedder.batch < 1:
        raise ConfigurationError(
            f"the embedder {embedder.name!r} takes {embedder.batch} texts at once: it must take at least 1"
        )


def needed(embedder: Embedder | None) -> Embedder:
    """The embedder of a conversion; raises ConfigurationError if there is none."""
    if embedder is None:
        raise ConfigurationError("reindex() makes vectors: open the memory with an embedder")
    return embedder


def no_vectors() -> EmbedderMismatchError:
    """The error of a memory whose entries have no vectors yet."""
    return EmbedderMismatchError("the memory has entries without vectors: call reindex() once to make them")


def other_vectors(name: str, dimension: int, embedder: Embedder | None) -> EmbedderMismatchError:
    """The error of a memory whose vectors are those of another embedder."""
    other = f"{embedder.name!r} ({embedder.dimension})" if embedder is not None else "none"
    return EmbedderMismatchError(
        f"the memory has vectors of the embedder {name!r} ({dimension}), not of {other}: open it with that one, or "
        f"call reindex() to convert it"
    )


async def vectors_of(embedder: Embedder, texts: Sequence[str]) -> list[array[float]]:
    """The vectors of texts, made in batches."""
    vectors: list[array[float]] = []
    for start in range(0, len(texts), embedder.batch):
        some = texts[start : start + embedder.batch]
        vectors += _checked(await embedder.embed(some), embedder, len(some))
    return vectors


async def question_vector(embedder: Embedder | None, query: str) -> array[float] | None:
    """The vector of a question; None without a text to embed, or without an embedder."""
    if embedder is None or not query.strip():
        return None
    return _checked([await embedder.embed_query(query)], embedder, 1)[0]


def _checked(vectors: Sequence[Sequence[float]], embedder: Embedder, expected: int) -> list[array[float]]:
    """Vectors as numbers of 32 bits; raises MemoryStoreError if they are not what the embedder says."""
    if len(vectors) != expected:
        raise MemoryStoreError(f"the embedder {embedder.name!r} gave {len(vectors)} vectors for {expected} texts")
    result = []
    for vector in vectors:
        numbers = array("f", map(float, vector))
        if len(numbers) != embedder.dimension or not all(map(math.isfinite, numbers)):
            raise MemoryStoreError(
                f"the embedder {embedder.name!r} gave a vector that is not {embedder.dimension} finite numbers"
            )
        result.append(numbers)
    return result
