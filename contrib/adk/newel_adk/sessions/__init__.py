"""Imports sessions from google-adk's databases; loaded only for an import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel_adk.sessions.importer import import_sessions as import_sessions
    from newel_adk.sessions.layout import Choice as Choice
    from newel_adk.sessions.report import Report as Report
    from newel_adk.sessions.report import RowNote as RowNote

_HERE = "newel_adk.sessions"
_WHERE = {
    "Choice": f"{_HERE}.layout",
    "RowNote": f"{_HERE}.report",
    "Report": f"{_HERE}.report",
    "import_sessions": f"{_HERE}.importer",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
