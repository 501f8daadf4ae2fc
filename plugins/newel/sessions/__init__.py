"""Sessions and their stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_kernel.lazy import lazy_exports

if TYPE_CHECKING:
    from newel.sessions.in_memory_session_service import InMemorySessionService as InMemorySessionService
    from newel.sessions.sqlite.service import SqliteSessionService as SqliteSessionService
    from newel_kernel.contracts.services import BaseSessionService as BaseSessionService
    from newel_kernel.contracts.services import GetSessionConfig as GetSessionConfig
    from newel_kernel.session import Session as Session
    from newel_kernel.state import State as State

_WHERE = {
    "BaseSessionService": "newel_kernel.contracts.services",
    "GetSessionConfig": "newel_kernel.contracts.services",
    "InMemorySessionService": "newel.sessions.in_memory_session_service",
    "Session": "newel_kernel.session",
    "SqliteSessionService": "newel.sessions.sqlite.service",
    "State": "newel_kernel.state",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
