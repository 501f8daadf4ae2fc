"""Sessions and their stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.sessions.contract import Capabilities as Capabilities
    from newel.sessions.contract import SessionPage as SessionPage
    from newel.sessions.contract import SessionStore as SessionStore
    from newel.sessions.contract import SharedSessionStore as SharedSessionStore
    from newel.sessions.database.service import DatabaseSessionService as DatabaseSessionService
    from newel.sessions.errors import StoreUnavailableError as StoreUnavailableError
    from newel.sessions.forking import fork_session as fork_session
    from newel.sessions.in_memory_session_service import InMemorySessionService as InMemorySessionService
    from newel.sessions.pairing import check_pairing as check_pairing
    from newel.sessions.rewind import rewind_event as rewind_event
    from newel.sessions.scopes import merge_scopes as merge_scopes
    from newel.sessions.scopes import split_by_scope as split_by_scope
    from newel.sessions.sqlite.service import SqliteSessionService as SqliteSessionService
    from newel_kernel import BaseSessionService as BaseSessionService
    from newel_kernel import GetSessionConfig as GetSessionConfig
    from newel_kernel import Session as Session
    from newel_kernel import State as State

_WHERE = {
    "BaseSessionService": "newel_kernel",
    "Capabilities": "newel.sessions.contract",
    "DatabaseSessionService": "newel.sessions.database.service",
    "StoreUnavailableError": "newel.sessions.errors",
    "GetSessionConfig": "newel_kernel",
    "InMemorySessionService": "newel.sessions.in_memory_session_service",
    "Session": "newel_kernel",
    "SessionPage": "newel.sessions.contract",
    "SessionStore": "newel.sessions.contract",
    "SharedSessionStore": "newel.sessions.contract",
    "SqliteSessionService": "newel.sessions.sqlite.service",
    "State": "newel_kernel",
    "check_pairing": "newel.sessions.pairing",
    "fork_session": "newel.sessions.forking",
    "merge_scopes": "newel.sessions.scopes",
    "rewind_event": "newel.sessions.rewind",
    "split_by_scope": "newel.sessions.scopes",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
