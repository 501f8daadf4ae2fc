"""Explained: sqlite3's errors as SessionErrors that say what to do about them."""

from __future__ import annotations

import sqlite3
from types import TracebackType

from newel.sessions.errors import StoreUnavailableError
from newel_kernel import SessionError


class Explained:
    """A block whose sqlite3 errors become SessionErrors that name the file. A class, because each write has one."""

    __slots__ = ("_action", "_path")

    def __init__(self, path: str, action: str) -> None:
        self._path = path
        self._action = action

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if error is None:
            return
        if isinstance(error, UnicodeEncodeError):
            raise SessionError(f"an app name, user id or session id is not valid text: {error}") from error
        if isinstance(error, sqlite3.Error):
            what = StoreUnavailableError if "locked" in str(error) else SessionError
            raise what(f"the session store {self._path!r} cannot be {self._action}: {explain(error)}") from error


def explain(error: Exception) -> str:
    """The error and what to do about it."""
    text = str(error)
    for sign, remedy in _REMEDIES:
        if sign in text:
            return f"{text}; {remedy}"
    return text


_REMEDIES = (
    ("not a database", "it is another kind of file: name another path, or move it away"),
    ("malformed", "the file is damaged: restore a backup, or salvage it with `sqlite3 FILE .recover`"),
    ("readonly", "make the file and its directory writable, or name another path"),
    ("unable to open", "name a path in a directory that exists or can be made, and that is writable"),
    ("locked", "another process is writing, and does not end: end it, or try again"),
    ("full", "free space on the disk and try again"),
    ("Not a directory", "a part of the path is a file: name another path"),
    ("File exists", "a part of the path is a file: name another path"),
    ("Permission denied", "make the directory writable, or name another path"),
    ("Read-only file system", "name a path on a file system that is writable"),
)
