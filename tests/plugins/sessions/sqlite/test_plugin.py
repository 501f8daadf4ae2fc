"""The plugin of SQLite sessions: a light entry module that opens stores by URI."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from newel import sessions
from newel.sessions import sqlite_session_service
from newel.sessions.sqlite import SqliteSessionService, plugin


def test_the_plugin_opens_a_store_by_its_uri(tmp_path: Path) -> None:
    (backend,) = plugin.register_session_backends()
    assert backend.name == "sqlite"
    store = backend.open(f"sqlite:///{tmp_path}/a/s.db")
    assert isinstance(store, SqliteSessionService)
    asyncio.run(store.close())
    assert (tmp_path / "a" / "s.db").exists()


def test_the_entry_module_is_light() -> None:
    script = (
        "import sys; from newel.sessions.sqlite import plugin; "
        "plugin.register_session_backends(); print('sqlite3' in sys.modules)"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=env)
    assert done.stdout.strip() == "False"


def test_the_released_name_is_the_same_class() -> None:
    assert sessions.SqliteSessionService is SqliteSessionService
    assert sqlite_session_service.SqliteSessionService is SqliteSessionService
