"""Two processes may open a file that does not exist yet at the same time."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from newel.memory.sqlite import file as memory_file
from newel.sessions.sqlite import database as session_file


def make_sessions(connection: Any, path: str) -> None:
    session_file._migrate(connection, path, 5.0)


def make_memory(connection: Any, path: str) -> None:
    memory_file._migrate(connection, path)


class Watched:
    """A connection; before it asks the file for its tables, another one makes them."""

    def __init__(self, connection: sqlite3.Connection, meanwhile: Callable[[], None]) -> None:
        self.connection = connection
        self.other = threading.Thread(target=meanwhile)
        self.is_asked = False

    def execute(self, sql: str, *values: Any) -> Any:
        if "sqlite_master" in sql and not self.is_asked:
            self.is_asked = True
            self.other.start()
            self.other.join(0.3)  # it may have to wait for this one
        return self.connection.execute(sql, *values)


@pytest.mark.parametrize("make", [make_sessions, make_memory])
def test_a_file_whose_tables_are_being_made_is_not_taken_for_another_programs(
    tmp_path: Path, make: Callable[[Any, str], None]
) -> None:
    path = str(tmp_path / "s.db")
    made: list[str] = []

    def meanwhile() -> None:
        other = sqlite3.connect(path, isolation_level=None, timeout=5)
        make(other, path)
        other.close()
        made.append("by the other")

    connection = sqlite3.connect(path, isolation_level=None, timeout=5)
    watched = Watched(connection, meanwhile)
    make(watched, path)
    watched.other.join()
    tables = connection.execute("SELECT count(*) FROM sqlite_master WHERE type = 'table'").fetchone()[0]
    connection.close()
    assert tables > 3
    assert made == ["by the other"]
