"""Ranking: the entries that a question finds by its words."""

from __future__ import annotations

from collections.abc import Sequence

from newel.memory.fusion import WordRanking, weight
from newel.sessions.stored.steps import Query, Steps
from newel_postgres.memory.conditions import Conditions
from newel_postgres.memory.lexemes import Term, terms
from newel_postgres.memory.tables import Tables

#: A word in more of the user's entries than this is common: it says little and is costly to rank by.
_COMMON = 1000
_WORDS = 48
#: bm25's parameters: how soon repeating a word stops counting, and how much a long text is penalized.
_REPEATED, _LONG = 1.2, 0.75


def by_words(tables: Tables, where: Conditions, query: str, entries: int, length: int, most: int) -> Steps[WordRanking]:
    """The entries that share a word with the query, best first by bm25, the newest first if two score the same.

    Entries that share only common words come last: those with all of them first, then the newest. `entries` is how
    many entries the user has, `length` how many terms they have together.
    """
    query_terms = terms(where.owner, query, _WORDS)
    counts = (yield from _counts(tables, where.owner, query_terms)) if query_terms else []
    weights = {term: weight(count, entries) for term, count in counts if count <= _COMMON}
    rare = list(weights.items())
    common = [term.query for term, count in counts if count > _COMMON]
    scores: dict[int, float] = {}
    if rare:
        scores.update((yield from _ranked(tables, where, rare, length / entries, most)))
    for joined in (" & ", " | "):
        if common and len(scores) < most:
            sql, values = _matching(where, 4)
            newest = f"SELECT number FROM {tables.entries} WHERE {sql} ORDER BY number DESC LIMIT ?3"
            for (number,) in (yield Query(newest, (where.owner, joined.join(common), most, *values))).rows:
                scores.setdefault(number, 0.0)
    return WordRanking(list(scores.items())[:most], sum(weights.values()))


def _ranked(
    tables: Tables, where: Conditions, rare: Sequence[tuple[Term, float]], average: float, most: int
) -> Steps[list[tuple[int, float]]]:
    sql, values = _matching(where, 7)
    words, match = "words", "word.lexeme = asked_for OR (begins AND starts_with(word.lexeme, asked_for))"
    if not any(term.begins for term, _ in rare):
        # Only the entry's words that the query has: the server finds them directly, and unpacks no others.
        words, match = "ts_filter(setweight(words, 'A', CAST(?3 AS text[])), '{a}')", "word.lexeme = asked_for"
    sql = (
        f"SELECT number, sum(weight * times * {_REPEATED + 1} / (times + {_REPEATED} * "
        f"({1 - _LONG} + {_LONG} * length / CAST(?6 AS double precision)))) AS score "
        f"FROM (SELECT number, CAST(length AS double precision) AS length, {words} AS words "
        f"FROM {tables.entries} WHERE {sql}) AS e "
        f"CROSS JOIN LATERAL unnest(words) AS word "
        f"JOIN unnest(CAST(?3 AS text[]), CAST(?4 AS boolean[]), CAST(?5 AS double precision[])) "
        f"AS asked (asked_for, begins, weight) ON {match} "
        f"CROSS JOIN LATERAL (SELECT CAST(cardinality(word.positions) AS double precision) AS times) AS counted "
        f"GROUP BY number ORDER BY score DESC, number DESC LIMIT {most:d}"
    )
    query = " | ".join(term.query for term, _ in rare)
    lexemes, begins = [term.lexeme for term, _ in rare], [term.begins for term, _ in rare]
    weights = [weight for _, weight in rare]
    params = (where.owner, query, lexemes, begins, weights, max(average, 1.0), *values)
    return [(number, float(score)) for number, score in (yield Query(sql, params)).rows]


def _matching(where: Conditions, first: int) -> tuple[str, list[object]]:
    """The conditions on the owner (?1), the words (?2) and the filter (from ?`first` on), and the filter's values."""
    narrow, values = where.sql(first)
    return f"owner = CAST(?1 AS bigint) AND words @@ CAST(CAST(?2 AS text) AS tsquery){narrow}", values


def _counts(tables: Tables, owner: int, query_terms: Sequence[Term]) -> Steps[list[tuple[Term, int]]]:
    """How many entries each term is in; for the beginning of a term, how many at most."""
    sql = f"SELECT lexeme, entries FROM {tables.terms} WHERE owner = ?1 AND lexeme = ANY(CAST(?2 AS text[]))"
    whole = [term.lexeme for term in query_terms if not term.begins]
    rows = (yield Query(sql, (owner, whole))).rows if whole else ()
    by_lexeme = {row[0]: int(row[1]) for row in rows}
    counts = []
    for term in query_terms:
        count = (yield from _beginning(tables, owner, term)) if term.begins else by_lexeme.get(term.lexeme, 0)
        counts.append((term, count))
    return counts


def _beginning(tables: Tables, owner: int, term: Term) -> Steps[int]:
    begins = "lexeme >= CAST(?2 AS text) AND lexeme < CAST(?2 AS text) || chr(1114111)"  # by the bytes of UTF-8
    sql = f"SELECT coalesce(sum(entries), 0) FROM {tables.terms} WHERE owner = ?1 AND {begins}"
    return int((yield Query(sql, (owner, term.lexeme))).rows[0][0])
