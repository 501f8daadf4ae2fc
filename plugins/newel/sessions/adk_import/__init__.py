"""Imports sessions from google-adk's databases; loaded only for an import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.sessions.adk_import.importer import import_sessions as import_sessions
    from newel.sessions.adk_import.layout import Choice as Choice
    from newel.sessions.adk_import.report import Left as Left
    from newel.sessions.adk_import.report import Report as Report

_HERE = "newel.sessions.adk_import"
_WHERE = {
    "Choice": f"{_HERE}.layout",
    "Left": f"{_HERE}.report",
    "Report": f"{_HERE}.report",
    "import_sessions": f"{_HERE}.importer",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
