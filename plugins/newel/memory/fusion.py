"""Fusion: how the ranking by words and the ranking by vectors become one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

#: How many places of each ranking count at least.
_DEPTH = 50
#: The worth of a match by words, or by vector, that nothing confirms.
_ALONE = 0.25


@dataclass(frozen=True, slots=True)
class WordRanking:
    """Entries with their scores, best first; `whole`: the score of an entry with every word of the question, once."""

    entries: list[tuple[int, float]]
    whole: float


def weight(count: int, entries: int) -> float:
    """How much a word says that is in `count` of `entries` entries: the logarithm of the odds, as in FTS5's bm25."""
    return max(1e-6, math.log((max(entries - count, 0) + 0.5) / (count + 0.5)))


def depth(most: int) -> int:
    """How many entries to rank by words, and by vectors, if `most` are asked for."""
    return max(most, _DEPTH)


def fused(words: WordRanking, near: Sequence[tuple[int, float]], most: int) -> list[tuple[int, float]]:
    """One ranking of two. `near` has the nearest entries and those of `words`, each with its cosine.

    Words are worth the share of the question that they cover. A rare word is most of a question, and a word that is in
    no entry counts, too: no entry covers a question in other words. A vector is worth its share of the best cosine. A
    quarter of both counts in any case; words count further as far as they are confirmed: by the vector, or by being
    much of the question. Of two equal entries the nearer one is first, then the newest.
    """
    cosines = dict(near)
    shares = {number: score / words.whole if words.whole else 0.0 for number, score in words.entries}
    # An entry that was not ranked by its words has at most the share of the last one.
    other = min(shares.values(), default=0.0) if len(shares) >= depth(most) else 0.0
    best = max(cosines.values(), default=0.0)
    ranking = []
    for number in cosines.keys() | shares.keys():
        cosine = cosines.get(number, 0.0)
        by_vector, by_words = (max(cosine, 0.0) / best if best > 0 else 0.0), shares.get(number, other)
        score = by_words * max(by_words, by_vector)
        ranking.append((score + _ALONE * (by_words + by_vector), cosine, number))
    return [(number, score) for score, _, number in sorted(ranking, reverse=True)[:most]]
