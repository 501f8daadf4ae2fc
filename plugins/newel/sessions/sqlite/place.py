"""Place: where a store's file lies, whether it is still the file that was opened, and whether it may only be read."""

from __future__ import annotations

import os
import sqlite3
from urllib.parse import quote

from newel_kernel import SessionError


class Place:
    """The path of a store's file."""

    def __init__(self, path: str) -> None:
        self.path = path
        #: Device and inode of the file that was opened first; None: none was.
        self._opened: tuple[int, int] | None = None

    def opened(self) -> None:
        """Note that the file at the path is the store's."""
        if self._opened is None:
            self._opened = self._identity()

    def check(self) -> None:
        """Raise SessionError if the store's file is not at its path any more: what is written to it is lost."""
        if self._opened is not None and self._identity() != self._opened:
            raise SessionError(
                f"the session store {self.path!r} was deleted, moved or replaced while it was open, and nothing can be "
                f"stored in it any more: put the file back, or open the store again"
            )

    @property
    def is_read_only(self) -> bool:
        """Whether the file exists, and this process may not write it or may not write next to it (such as its log)."""
        return os.path.isfile(self.path) and not (_writable(self.path) and _writable(os.path.dirname(self.path)))

    def open_to_read(self) -> sqlite3.Connection:
        """A connection that writes nothing; it is for one read, since it may not see what others write meanwhile."""
        options = "mode=ro"
        if not _writable(os.path.dirname(self.path)) and not os.path.exists(f"{self.path}-wal"):
            options += "&immutable=1"  # else SQLite makes files for its locks
        return sqlite3.connect(
            f"file:{quote(self.path)}?{options}", uri=True, isolation_level=None, check_same_thread=False
        )

    def _identity(self) -> tuple[int, int] | None:
        try:
            status = os.stat(self.path)
        except OSError:
            return None
        return status.st_dev, status.st_ino


def _writable(path: str) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)
