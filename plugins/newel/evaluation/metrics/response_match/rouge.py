"""ROUGE-1: the words that two texts share, as a harmonic mean of precision and recall."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

from newel.evaluation.metrics.response_match.stemmer import stem

_ASCII_WORD = re.compile(r"[a-z0-9]+")
#: Scripts without spaces between words: a token for each character.
_IDEOGRAPHS = (
    (0x2E80, 0x2FDF),
    (0x3005, 0x3007),
    (0x3021, 0x3029),
    (0x3038, 0x303B),
    (0x3040, 0x30FF),
    (0x3105, 0x312F),
    (0x31A0, 0x31BF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x1100, 0x11FF),
    (0x3130, 0x318F),
    (0xA960, 0xA97F),
    (0xAC00, 0xD7FF),
    (0x1AFF0, 0x1B16F),
    (0x20000, 0x323AF),
)
#: Thai, Lao, Burmese, Khmer: a token for each base character with its marks.
_SYLLABIC = ((0x0E00, 0x0E7F), (0x0E80, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0xA9E0, 0xA9FF), (0xAA60, 0xAA7F))


def tokens(text: str) -> list[str]:
    """The words of a text, lower case; those of more than three ASCII letters stemmed."""
    text = unicodedata.normalize("NFKC", text).lower()
    if text.isascii():
        return [_stemmed(word) for word in _ASCII_WORD.findall(text)]
    words: list[str] = []
    word, in_syllable = "", False
    for char in text:
        kind = _kind(char)
        if kind == _SYLLABLE and in_syllable and unicodedata.category(char)[0] == "M":
            words[-1] += char
            continue
        in_syllable = kind == _SYLLABLE
        if kind == _WORD:
            word += char
            continue
        _end_word(word, words)
        word = ""
        if kind != _GAP:
            words.append(char)
    _end_word(word, words)
    return words


_GAP, _WORD, _IDEOGRAPH, _SYLLABLE = range(4)


def _kind(char: str) -> int:
    """What a character is a part of; only letters, digits and marks are a part of anything."""
    if unicodedata.category(char)[0] not in "LNM":
        return _GAP
    if _within(ord(char), _IDEOGRAPHS):
        return _IDEOGRAPH
    return _SYLLABLE if _within(ord(char), _SYLLABIC) else _WORD


def _end_word(word: str, words: list[str]) -> None:
    if word.isascii():
        words.extend(_stemmed(one) for one in _ASCII_WORD.findall(word))
    elif word:
        words.append(word)


def _stemmed(word: str) -> str:
    return stem(word) if len(word) > 3 else word


def _within(code: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(first <= code <= last for first, last in ranges)


def rouge_1(candidate: str, reference: str) -> float:
    """The F-measure of the words that both texts have; 0 if either text has no words."""
    ours, theirs = Counter(tokens(candidate)), Counter(tokens(reference))
    shared = sum((ours & theirs).values())
    if not shared:
        return 0.0
    precision, recall = shared / sum(ours.values()), shared / sum(theirs.values())
    return 2 * precision * recall / (precision + recall)
