"""Which SQLite a process uses for its memories: one only, because two libraries would break each other's locks."""

from __future__ import annotations

import importlib
import sqlite3
from functools import lru_cache
from importlib.util import find_spec
from typing import Protocol, cast

from newel_kernel import ConfigurationError


class Binding(Protocol):
    """A module with the interface of sqlite3."""

    Error: type[Exception]

    def connect(
        self, database: str, *, timeout: float, isolation_level: None, check_same_thread: bool
    ) -> sqlite3.Connection:
        """See sqlite3."""


@lru_cache(maxsize=1)
def binding() -> Binding:
    """Python's own sqlite3, or pysqlite3 if Python was built without extensions and it is installed."""
    if not hasattr(sqlite3.Connection, "enable_load_extension") and find_spec("pysqlite3") is not None:
        return cast(Binding, importlib.import_module("pysqlite3"))
    return cast(Binding, sqlite3)


def check_vectors() -> None:
    """Raise ConfigurationError if sqlite-vec cannot be used here."""
    if find_spec("sqlite_vec") is None:
        raise ConfigurationError("a memory with vectors needs sqlite-vec: pip install 'newel[vectors]'")
    if binding() is cast(Binding, sqlite3) and not hasattr(sqlite3.Connection, "enable_load_extension"):
        raise ConfigurationError(
            "this Python's sqlite3 was built without extensions, which vectors need: install pysqlite3-binary, or use "
            "a Python built with --enable-loadable-sqlite-extensions"
        )


def load_vectors(connection: sqlite3.Connection) -> None:
    """Load sqlite-vec into the connection."""
    check_vectors()
    import sqlite_vec

    connection.enable_load_extension(True)
    sqlite_vec.load(connection)
    connection.enable_load_extension(False)
