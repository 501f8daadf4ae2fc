"""ToolIndex: finds tools by what they do, with the full text search of SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from newel.memory.sqlite.binding import binding
from newel.memory.terms import terms
from newel.models.wire.names import apart
from newel.tools.tool_words import meant
from newel_kernel import BaseTool, FeatureUnavailableError

_TABLE = "CREATE VIRTUAL TABLE tools USING fts5(name, description, parameters, tokenize = 'porter unicode61')"
#: What a match in each column is worth.
_FIND = "SELECT rowid, -bm25(tools, 4.0, 2.0, 1.0) FROM tools WHERE tools MATCH ?"
#: How many words of a query count, and what a word that only means the same is worth.
_WORDS, _ALIKE = 48, 0.5


class ToolIndex:
    """An index of tools by their names, their descriptions and their parameters."""

    def __init__(self, tools: Sequence[BaseTool]) -> None:
        self._names = [tool.name for tool in tools]
        self._connection = binding().connect(":memory:", timeout=5, isolation_level=None, check_same_thread=False)
        try:
            self._connection.execute(_TABLE)
        except sqlite3.Error as error:
            raise FeatureUnavailableError(
                f"tools are searched with SQLite's full text search, which this Python lacks ({error}): "
                f"pip install pysqlite3-binary"
            ) from error
        rows = [(_words(tool.name), _words(tool.description), _words(_parameters(tool))) for tool in tools]
        self._connection.executemany("INSERT INTO tools VALUES (?, ?, ?)", rows)

    def find(self, query: str, most: int) -> list[str]:
        """The names of the `most` tools that fit `query` best, the best first."""
        words = sorted(terms(_apart(query)))[:_WORDS]
        if not words:
            return []
        scores: dict[int, float] = {}
        for some, worth in zip(meant(words), (1.0, _ALIKE), strict=True):
            match = " OR ".join(f'"{word}"' for word in some)
            for row, score in self._connection.execute(_FIND, (match,)) if some else ():
                scores[row] = scores.get(row, 0.0) + worth * score
        best = sorted(scores, key=lambda row: (-scores[row], row))[:most]
        return [self._names[row - 1] for row in best]

    def close(self) -> None:
        """Free the index."""
        self._connection.close()


def _words(text: str) -> str:
    return " ".join(sorted(terms(_apart(text))))


def _apart(text: str) -> str:
    """The text with the words of its names apart."""
    return apart(text, " ").replace("_", " ")


def _parameters(tool: BaseTool) -> str:
    """The names and descriptions of a tool's parameters."""
    declaration = tool._get_declaration()
    if declaration is None:
        return ""
    schema = declaration.parameters_json_schema
    if isinstance(schema, Mapping):
        return " ".join(_described(schema.get("properties")))
    return " ".join(_described((declaration.parameters.properties if declaration.parameters else None) or {}))


def _described(properties: object) -> Iterable[str]:
    for name, one in properties.items() if isinstance(properties, Mapping) else ():
        yield str(name)
        text = one.get("description") if isinstance(one, Mapping) else getattr(one, "description", None)
        yield text if isinstance(text, str) else ""
