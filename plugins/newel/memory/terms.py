"""Terms: what a text is found by, in the index of one user; and the part of a text that matches a search.

A term is a word or, if a script has no blanks between words, a run of two letters (Chinese, Japanese; Korean too,
whose words carry endings) or of three (Thai, Lao, Khmer, Burmese). SQLite's tokenizer `unicode61` folds case and
diacritics. Each term begins with its user's number, so that no list in the index has entries of two users.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

#: Between a user's number and the word. Private use, which the tokenizer takes for a letter and a text here never has.
_MARK = "\ue000"
_LONGEST = 64
_DENSE = re.compile(
    "([\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff]+)|([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+)"
)
#: Only Latin letters lose their marks: in other scripts a mark makes another letter.
_ACCENTED = re.compile("([a-z])[\u0300-\u036f]+")


class _Separators(dict[int, int]):
    """Letters, marks and numbers unchanged, everything else as a blank."""

    def __missing__(self, code: int) -> int:
        character = code if unicodedata.category(chr(code))[0] in "LMN" else 0x20
        self[code] = character
        return character


_SEPARATORS = _Separators()


def indexed(owner: int, text: str) -> str:
    """The text as the index has it."""
    return " ".join(owned(owner, term) for term in all_terms(text))


def all_terms(text: str) -> Iterator[str]:
    """The terms by which a text is found, in its order, as they are written."""
    return (term for word in _words(text) for term in _all_terms(word))


def owned(owner: int, term: str) -> str:
    """The term as the index has it: under its owner's number."""
    return f"{owner}{_MARK}{term}"


def queries(owner: int, text: str, most: int) -> list[str]:
    """The terms to look up in the index, each once, in the order of the text; at most `most`."""
    result: dict[str, None] = {}
    for word in _words(text):
        for term, is_prefix in _terms_of(word):
            result.setdefault(f'"{owned(owner, term)}"' + "*" * is_prefix)
        if len(result) >= most:
            break
    return list(result)[:most]


def terms(text: str) -> frozenset[str]:
    """The terms of a text, folded as SQLite's tokenizer folds them."""
    return frozenset(map(_folded, all_terms(text)))


def sought(text: str) -> dict[str, bool]:
    """The terms of a query, folded likewise; True: what begins with it counts, too."""
    return {_folded(term): is_prefix for word in _words(text) for term, is_prefix in _terms_of(word)}


def _folded(term: str) -> str:
    if term.isascii():
        return term.lower()
    plain = _ACCENTED.sub(r"\1", unicodedata.normalize("NFD", term.lower()))
    return unicodedata.normalize("NFC", plain)


def snippet(text: str, query: str, width: int = 200) -> str:
    """The part of the text, `width` characters at most and an ellipsis, in which most words of the query stand."""
    if len(text) <= width:
        return text
    words = sorted({part for word in _words(query[:4000]) for part in _shown(word)}, key=len, reverse=True)
    hits: list[tuple[int, str]] = []
    if words:
        pattern = re.compile("|".join(map(re.escape, words[:64])), re.IGNORECASE)
        hits = [(hit.start(), hit[0].lower()) for hit, _ in zip(pattern.finditer(text), range(500), strict=False)]
    start = max(0, _best(hits, width) - width // 8)
    start = 0 if start + width // 8 < width // 4 else min(start, len(text) - width)
    blank = text.find(" ", start, start + width // 8) if start else -1
    start = blank + 1 if blank >= 0 else start
    end = start + width
    return ("…" if start else "") + text[start:end].strip() + ("…" if end < len(text) else "")


def _best(hits: Sequence[tuple[int, str]], width: int) -> int:
    """Where the window with the most different words begins."""
    best, most = 0, 0
    for at, (begin, _) in enumerate(hits):
        different = len({word for place, word in hits[at : at + 100] if place < begin + width - width // 4})
        if different > most:
            best, most = begin, different
    return best


def _words(text: str) -> list[str]:
    return unicodedata.normalize("NFKC", text).translate(_SEPARATORS).split()


def _parts(word: str) -> Iterator[tuple[str, int]]:
    """The word, cut if its script changes to or from one without blanks; each part with its terms' length, or 0."""
    if word.isascii():
        yield word, 0
        return
    end = 0
    for run in _DENSE.finditer(word):
        if run.start() > end:
            yield word[end : run.start()], 0
        yield run[0], 2 if run[1] is not None else 3
        end = run.end()
    if end < len(word):
        yield word[end:], 0


def _all_terms(word: str) -> Iterator[str]:
    for part, size in _parts(word):
        if not size:
            yield part[:_LONGEST]
        else:  # with the last letters, so that each letter begins a term
            yield from (part[at : at + size] for at in range(len(part)))


def _terms_of(word: str) -> Iterator[tuple[str, bool]]:
    for part, size in _parts(word):
        if not size:
            yield part[:_LONGEST], False
        elif len(part) < size:
            yield part, True
        else:
            yield from ((part[at : at + size], False) for at in range(len(part) - size + 1))


def _shown(word: str) -> Iterator[str]:
    return (term for term, _ in _terms_of(word))
