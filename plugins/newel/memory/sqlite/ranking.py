"""Ranking: the entries that a question finds by its words, and how two rankings become one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from newel.memory.fusion import WordRanking, weight
from newel.memory.sqlite.conditions import Conditions
from newel.memory.terms import queries

#: A word that stands in more of the user's entries is common: it says little and costs much to rank by.
_COMMON = 1000
#: How many words of a question count.
_WORDS = 48
#: CROSS: the index first, for the entries of the user may be many more than those with the word.
_FROM = (
    "SELECT e.number, {score} FROM words CROSS JOIN entries e ON e.number = words.rowid WHERE words MATCH ? AND {where}"
)


def by_words(connection: sqlite3.Connection, where: Conditions, query: str, most: int) -> WordRanking:
    """The entries that share a word with the query, best first by bm25, with their scores.

    Entries that have only common words of the query come last: those with all these words first, then the newest.
    """
    counts = {term: _count(connection, term) for term in queries(where.owner, query, _WORDS)}
    rare = [term for term, count in counts.items() if 0 < count <= _COMMON]
    common = [term for term, count in counts.items() if count > _COMMON]
    scores: dict[int, float] = {}
    if rare:
        # The newest first if two are equally good.
        sql = _FROM.format(score="-bm25(words)", where=where.sql) + " ORDER BY 2 DESC, e.number DESC LIMIT ?"
        scores.update(connection.execute(sql, (" OR ".join(rare), *where.values, most)).fetchall())
    for joined in (" AND ", " OR "):
        if common and len(scores) < most:
            sql = _FROM.format(score="0.0", where=where.sql) + " ORDER BY words.rowid DESC LIMIT ?"
            for number, score in connection.execute(sql, (joined.join(common), *where.values, most)):
                scores.setdefault(number, score)
    return WordRanking(list(scores.items())[:most], _whole(connection, counts.values()))


def _whole(connection: sqlite3.Connection, counts: Iterable[int]) -> float:
    """The score of an entry with every word, each once."""
    entries = connection.execute("SELECT max(number) FROM entries").fetchone()[0] or 0
    return sum(weight(count, entries) for count in counts if count <= _COMMON)


def _count(connection: sqlite3.Connection, term: str) -> int:
    """In how many entries the term stands, counted as far as it matters."""
    sql = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
    return int(connection.execute(sql, (term, _COMMON + 1)).fetchone()[0])
