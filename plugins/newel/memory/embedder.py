"""The contract of an embedder: texts in, vectors out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence


class Embedder(ABC):
    """Turns texts into vectors of `dimension` numbers, near each other if the texts mean the same.

    `name` says what made a vector: the model with its version, and whatever else changes its vectors. A memory stores
    it with the dimension and refuses another one's. The dimension is a multiple of 8.
    """

    name: str
    dimension: int
    #: How many texts one call of `embed` gets at most.
    batch: int = 64

    @abstractmethod
    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """A vector for each text, in their order. Their length does not matter, for only angles are compared."""

    async def embed_query(self, text: str) -> Sequence[float]:
        """The vector of a question; override it for models that treat questions and texts differently."""
        return (await self.embed([text]))[0]
