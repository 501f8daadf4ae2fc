"""The error of a session that is in use."""

from __future__ import annotations

from newel_kernel import SessionError


class SessionBusyError(SessionError):
    """Another run has the session. Wait for its end, or let runs queue or interrupt each other (plugin `claims`)."""
