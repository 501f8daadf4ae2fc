"""Lexemes: the terms of a text or a question in the form of PostgreSQL's full-text search.

A term begins with the number of its user, so that no list in the index has entries of two users. Case and the
diacritics of Latin, Greek and Cyrillic letters do not count.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from newel.memory.terms import all_terms, owned, queries

#: The most bytes of a text's terms that are indexed; a tsvector has at most a megabyte.
_MOST_BYTES = 900_000
_LAST_POSITION = 16383
#: The most bytes of a user's number with its mark, and of what PostgreSQL adds to a lexeme.
_OWNER_BYTES = 38


class Term(NamedTuple):
    """What a question asks for: a lexeme, or the beginning of one."""

    lexeme: str
    begins: bool

    @property
    def query(self) -> str:
        """The term for `tsquery`. Terms have letters, marks and numbers only, so nothing needs escaping."""
        return f"'{self.lexeme}'{':*' if self.begins else ''}"


class Words(NamedTuple):
    """A text's lexemes, without their user's number, with the places at which they stand; and how many there are."""

    places: Mapping[str, str]
    length: int

    def of(self, owner: int) -> str:
        """The words of the user `owner`, as `tsvector` reads them."""
        return " ".join(f"'{owned(owner, lexeme)}':{places}" for lexeme, places in self.places.items())


def words_of(text: str) -> Words:
    """The words of a text that are indexed. A long text takes a second: never ask within a transaction."""
    places: dict[str, list[int]] = {}
    size = length = 0
    for term in all_terms(text):
        lexeme = _folded(term)
        size += 8 if lexeme in places else len(lexeme.encode()) + _OWNER_BYTES
        if size > _MOST_BYTES:
            break
        length += 1
        places.setdefault(lexeme, []).append(min(length, _LAST_POSITION))
    return Words({lexeme: ",".join(map(str, at)) for lexeme, at in places.items()}, length)


def terms(owner: int, text: str, most: int) -> list[Term]:
    """The terms to search for, each once, at most `most`."""
    texts = (one.removesuffix("*") for one in queries(owner, text, most))
    begins = (one.endswith("*") for one in queries(owner, text, most))
    return list(dict.fromkeys(Term(_folded(one.strip('"')), prefix) for one, prefix in zip(texts, begins, strict=True)))


def facts(metadata: Mapping[str, object]) -> list[str]:
    """The plain values of metadata, each with its name, as texts that are equal if the values are equal."""
    return [fact for key, value in metadata.items() if (fact := fact_of(key, value)) is not None]


def fact_of(key: str, value: object) -> str | None:
    """The text of one value; None if the value is not plain."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, str | bool | int | float):
        return None
    return ascii((key, value))  # one line of plain letters, whatever the names are


def _folded(term: str) -> str:
    if term.isascii():
        return term.lower()
    parts = unicodedata.normalize("NFD", term.casefold())
    return unicodedata.normalize("NFC", "".join(_without_diacritics(parts)))


def _without_diacritics(text: str) -> Iterable[str]:
    return (letter for letter in text if not "\u0300" <= letter <= "\u036f")
