"""The error of a session that is in use."""

from __future__ import annotations

from newel_kernel import SessionError, brief


class SessionBusyError(SessionError):
    """Another run has the session. Wait for its end, or let runs queue or interrupt each other (plugin `claims`)."""

    @classmethod
    def of(cls, session_id: str, holder: str | None = None) -> SessionBusyError:
        """The error for a session that another run has, in this process or in the process `holder`."""
        where = f", in another process ({holder})" if holder else ""
        ways = "`busy: queue`" if holder else "`busy: queue` (or `interrupt`)"
        return cls(
            f"the session {brief(session_id)!r} has a run already{where}: wait for its end, or set {ways} for the "
            f"plugin 'claims' in the distribution's settings"
        )
