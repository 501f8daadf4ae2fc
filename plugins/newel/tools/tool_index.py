"""ToolIndex: finds tools by what they do, with the full text search of SQLite."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from newel.memory.sqlite.binding import binding
from newel.memory.terms import terms
from newel_kernel import BaseTool, FeatureUnavailableError

#: Where the words of a name meet that has capitals instead of separators.
_SEAM = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_")
_TABLE = "CREATE VIRTUAL TABLE tools USING fts5(name, description, parameters, tokenize = 'porter unicode61')"
#: What a match in each column is worth.
_FIND = "SELECT rowid FROM tools WHERE tools MATCH ? ORDER BY bm25(tools, 4.0, 2.0, 1.0), rowid LIMIT ?"
#: How many words of a query count.
_WORDS = 48


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
        match = " OR ".join(f'"{word}"' for word in words)
        return [self._names[row - 1] for (row,) in self._connection.execute(_FIND, (match, most))]

    def close(self) -> None:
        """Free the index."""
        self._connection.close()


def _words(text: str) -> str:
    return " ".join(sorted(terms(_apart(text))))


def _apart(text: str) -> str:
    """The text with the words of its names apart."""
    return _SEAM.sub(" ", text)


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
