"""HashingEmbedder: vectors without a model and without a network."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from newel.memory import Embedder


class HashingEmbedder(Embedder):
    """Each word, and each run of three letters in it, counts at places that its hash gives.

    The same text has the same vector on every machine. Texts with words in common are near each other; it cannot
    know that different words mean the same.
    """

    def __init__(self, dimension: int = 256, *, batch: int = 64) -> None:
        self.name = f"hashing-{dimension}"
        self.dimension = dimension
        self.batch = batch

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text."""
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        vector = [0.0] * self.dimension
        for word in re.findall(r"\w+", text.lower()):
            edged = f"^{word}$"
            self._count(vector, edged, 2.0)
            for at in range(len(edged) - 2):
                self._count(vector, edged[at : at + 3], 1.0)
        return vector

    def _count(self, vector: list[float], feature: str, weight: float) -> None:
        digest = int.from_bytes(hashlib.blake2b(feature.encode(errors="replace"), digest_size=8).digest())
        vector[digest % self.dimension] += weight if digest >> 63 else -weight
