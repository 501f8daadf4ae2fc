"""Sessions and their stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mortise_kernel.lazy import lazy_exports

if TYPE_CHECKING:
    from mortise.sessions.in_memory_session_service import InMemorySessionService as InMemorySessionService
    from mortise.sessions.sqlite_session_service import SqliteSessionService as SqliteSessionService
    from mortise_kernel.contracts.services import BaseSessionService as BaseSessionService
    from mortise_kernel.contracts.services import GetSessionConfig as GetSessionConfig
    from mortise_kernel.session import Session as Session
    from mortise_kernel.state import State as State

_WHERE = {
    "BaseSessionService": "mortise_kernel.contracts.services",
    "GetSessionConfig": "mortise_kernel.contracts.services",
    "InMemorySessionService": "mortise.sessions.in_memory_session_service",
    "Session": "mortise_kernel.session",
    "SqliteSessionService": "mortise.sessions.sqlite_session_service",
    "State": "mortise_kernel.state",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
