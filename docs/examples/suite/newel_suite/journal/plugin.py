"""journal: sessions at `journal:///file`. The service is imported when a store is opened, not when newel starts."""

from __future__ import annotations

from newel.sessions import SessionStore
from newel.sessions.kinds import SessionBackend
from newel_kernel import ConfigurationError, hookimpl

_PREFIX = "journal:///"


def open_journal(uri: str) -> SessionStore:
    """The store at a URI."""
    from newel_suite.journal.service import JournalSessionService  # noqa: PLC0415

    path = uri.removeprefix(_PREFIX)
    if path == uri or not path:
        raise ConfigurationError(f"{uri!r} names no file; write journal:///sessions.journal")
    store: SessionStore = JournalSessionService(path)
    return store


@hookimpl
def register_session_backends() -> list[SessionBackend]:
    """The store `journal`."""
    return [SessionBackend(name="journal", open=open_journal)]
