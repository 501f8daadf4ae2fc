"""The Porter stemmer, in NLTK's variant: ROUGE reduces words to their stems with it.

Source: M. F. Porter, An algorithm for suffix stripping, 1980, and the changes that NLTK's documentation lists: words
that are stemmed by hand, and suffixes `ies`, `ied`, `y`, `bli`, `alli`, `fulli` and `logi` treated as Porter's own
later programs do.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise

_VOWELS = "aeiou"
_BY_HAND = {
    "skies": "sky",
    "sky": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "news": "news",
    "innings": "inning",
    "inning": "inning",
    "outings": "outing",
    "outing": "outing",
    "cannings": "canning",
    "canning": "canning",
    "howe": "howe",
    "proceed": "proceed",
    "exceed": "exceed",
    "succeed": "succeed",
}
_STEP2 = (
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("fulli", "ful"),
)
_STEP3 = (("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""))
_STEP4 = (
    "al",
    "ance",
    "ence",
    "er",
    "ic",
    "able",
    "ible",
    "ant",
    "ement",
    "ment",
    "ent",
    "ion",
    "ou",
    "ism",
    "ate",
    "iti",
    "ous",
    "ive",
    "ize",
)


def _consonant(word: str, i: int) -> bool:
    if word[i] in _VOWELS:
        return False
    return word[i] != "y" or i == 0 or not _consonant(word, i - 1)


def _measure(stem: str) -> int:
    """How often a vowel is followed by a consonant."""
    kinds = [_consonant(stem, i) for i in range(len(stem))]
    return sum(1 for before, now in pairwise(kinds) if now and not before)


def _positive(stem: str) -> bool:
    return _measure(stem) > 0


def _has_vowel(stem: str) -> bool:
    return any(not _consonant(stem, i) for i in range(len(stem)))


def _double_consonant(word: str) -> bool:
    return len(word) >= 2 and word[-1] == word[-2] and _consonant(word, len(word) - 1)


def _ends_cvc(word: str) -> bool:
    """Consonant, vowel, consonant at the end, the last not w, x or y; or vowel and consonant, and nothing else."""
    last = len(word) - 1
    if len(word) >= 3:
        return (
            _consonant(word, last - 2)
            and not _consonant(word, last - 1)
            and _consonant(word, last)
            and word[-1] not in "wxy"
        )
    return len(word) == 2 and not _consonant(word, 0) and _consonant(word, 1)


def _step1a(word: str) -> str:
    if word.endswith("ies") and len(word) == 4:
        return word[:-1]
    for suffix, new in (("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", "")):
        if word.endswith(suffix):
            return word[: len(word) - len(suffix)] + new
    return word


def _step1b(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _positive(word[:-3]) else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix):
            stem = word[: -len(suffix)]
            return _repaired(stem) if _has_vowel(stem) else word
    return word


def _repaired(stem: str) -> str:
    """The stem of a word in -ed or -ing: `hop` of `hopping`, `file` of `filing`."""
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if _double_consonant(stem):
        return stem if stem[-1] in "lsz" else stem[:-1]
    return stem + "e" if _measure(stem) == 1 and _ends_cvc(stem) else stem


def _step1c(word: str) -> str:
    if word.endswith("y") and len(word) > 2 and _consonant(word, len(word) - 2):
        return word[:-1] + "i"
    return word


def _step2(word: str) -> str:
    if word.endswith("alli") and _positive(word[:-4]):
        return _step2(word[:-2])
    for suffix, new in _STEP2:
        if word.endswith(suffix):
            stem = word[: len(word) - len(suffix)]
            return stem + new if _positive(stem) else word
    if word.endswith("logi"):
        return word[:-1] if _positive(word[:-3]) else word
    return word


def _step3(word: str) -> str:
    for suffix, new in _STEP3:
        if word.endswith(suffix):
            stem = word[: len(word) - len(suffix)]
            return stem + new if _positive(stem) else word
    return word


def _step4(word: str) -> str:
    for suffix in _STEP4:
        if word.endswith(suffix):
            stem = word[: len(word) - len(suffix)]
            fits = _measure(stem) > 1 and (suffix != "ion" or stem[-1:] in ("s", "t"))
            return stem if fits else word
    return word


def _step5(word: str) -> str:
    if word.endswith("e"):
        stem = word[:-1]
        measure = _measure(stem)
        if measure > 1 or (measure == 1 and not _ends_cvc(stem)):
            word = stem
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


_STEPS: tuple[Callable[[str], str], ...] = (_step1a, _step1b, _step1c, _step2, _step3, _step4, _step5)


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """The stem of a lower-case ASCII word."""
    if word in _BY_HAND:
        return _BY_HAND[word]
    if len(word) <= 2:
        return word
    for step in _STEPS:
        word = step(word)
    return word
