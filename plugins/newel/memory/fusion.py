"""Fusion: how the ranking by words and the ranking by vectors become one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: Of reciprocal rank fusion (Cormack, Clarke, Büttcher 2009): how much the first places stand out.
_FLAT = 60
#: How many places of each ranking count at least.
DEPTH = 50


@dataclass(frozen=True, slots=True)
class WordRanking:
    """Entries with their scores, best first; `covered`: how much of the question the best of them has, from 0 to 1."""

    entries: list[tuple[int, float]]
    covered: float


def fused(words: WordRanking, near: Sequence[tuple[int, float]], most: int) -> list[tuple[int, float]]:
    """One ranking of two, by the places in both: the sum of weight / (60 + place).

    Words weigh as much as they cover of the question. Where its telling words stand in no entry, it was asked in other
    words, and those that remain ("my", "in") point anywhere.
    """
    weight = words.covered**3
    scores: dict[int, float] = {}
    for share, ranking in ((weight, words.entries), (1 - weight, near)):
        for place, (number, _) in enumerate(ranking, 1):
            scores[number] = scores.get(number, 0.0) + share / (_FLAT + place)
    return sorted(scores.items(), key=lambda one: (-one[1], -one[0]))[:most]
