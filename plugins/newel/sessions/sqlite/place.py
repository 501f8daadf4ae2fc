"""Place: where a store's files lie, whether they are still those that were opened, and whether they may be written."""

from __future__ import annotations

import math
import os
import sqlite3
from typing import TypeAlias
from urllib.parse import quote

from newel.sessions.stored import clockwork
from newel_kernel import SessionError

#: What SQLite keeps next to the file while it is open: commits that are not in the file yet, and an index of them.
_COMPANIONS = ("-wal", "-shm")
_Identity: TypeAlias = tuple[int, int] | None
#: When a directory was last changed (in ns), its inode and its device.
_Stamp: TypeAlias = tuple[int, int, int]
#: So long after a directory has changed, another change shows in its time, in seconds: the time that file systems
#: write moves on with the ticks of the system's clock, every 10 ms or less.
_SETTLED_AFTER = 0.05
#: A file system whose times are multiples of so many nanoseconds is too coarse for that.
_COARSE = 1_000_000
#: Whether `st_ctime` is the time of the last change; on Windows it is the time of creation.
_HAS_CHANGE_TIMES = os.name == "posix"


class LogLostError(SessionError):
    """A companion of the store's file was deleted or replaced: what was committed would be gone after a crash."""


class Place:
    """The path of a store's file."""

    def __init__(self, path: str, read_only: bool = False) -> None:
        self.path = path
        self._read_only = read_only
        #: Device and inode of the file that was opened first; None: none was.
        self._opened: _Identity = None
        self._companions: tuple[_Identity, ...] | None = None
        self._paths = (path, *(path + name for name in _COMPANIONS))
        self._directory = os.path.dirname(path) or "."
        #: The directory as it was last seen, since when it is so at least, and when to look at it again.
        self._seen: tuple[_Stamp | None, float] = None, 0.0
        self._again_at = 0.0 if _HAS_CHANGE_TIMES else math.inf
        #: The directory as it was when its files were looked at, if any later change shows in it.
        self._settled: _Stamp | None = None

    def opened(self) -> None:
        """Note that the file at the path is the store's."""
        if self._opened is None:
            self._opened = self._identity()

    def written(self) -> None:
        """Note the companions of the file, once a transaction has begun: SQLite has made them by then."""
        if self._companions is None:
            self._companions = tuple(map(self._identity, _COMPANIONS))

    def closed(self) -> None:
        """Forget the companions: SQLite deletes them with the last connection."""
        self._companions = None
        self._settled = None

    @property
    def is_unchanged(self) -> bool:
        """Whether the file and its companions are those that were noted. Quick: each commit asks twice.

        Who creates, deletes, moves or replaces a file changes the time of its directory, which nobody can set. So one
        look at the directory is enough once the files were looked at, and the directory had been quiet for a moment.
        """
        if self._companions is None:
            return False
        try:
            if self._settled is not None:
                directory = os.stat(self._directory)
                if (directory.st_ctime_ns, directory.st_ino, directory.st_dev) == self._settled:
                    return True
            return self._are_same() if (now := clockwork.elapsed()) < self._again_at else self._settle(now)
        except OSError:
            return False

    def _settle(self, now: float) -> bool:
        """Look at the files, and note whether the directory is enough from now on. Any thread may call it."""
        directory = os.stat(self._directory)  # before the files: what changes after them changes it
        stamp = directory.st_ctime_ns, directory.st_ino, directory.st_dev
        seen, since = self._seen
        if stamp != seen:
            since = clockwork.elapsed()
            self._seen = stamp, since
        same = self._are_same()
        is_quiet = now >= since + _SETTLED_AFTER
        self._settled = stamp if same and is_quiet and stamp[0] % _COARSE else None
        self._again_at = 0.0 if self._settled else now + _SETTLED_AFTER
        return same

    def _are_same(self) -> bool:
        file, log, index = self._paths
        one, two, three = os.stat(file), os.stat(log), os.stat(index)
        return (one.st_dev, one.st_ino) == self._opened and self._companions == (
            (two.st_dev, two.st_ino),
            (three.st_dev, three.st_ino),
        )

    def check(self) -> None:
        """Raise SessionError if the store's file is not at its path any more: what is written to it is lost."""
        if self._opened is not None and self._identity() != self._opened:
            raise SessionError(
                f"the session store {self.path!r} was deleted, moved or replaced while it was open, and nothing can be "
                f"stored in it any more: put the file back, or open the store again"
            )

    def check_companions(self) -> None:
        """Raise LogLostError if a companion is not the one with which the file was opened."""
        if self._companions is not None and tuple(map(self._identity, _COMPANIONS)) != self._companions:
            raise LogLostError(
                f"a file next to the session store {self.path!r} ({' or '.join(_COMPANIONS)}) was deleted or replaced "
                f"while the store was open, and nothing can be stored safely: end all processes that have the store "
                f"open (the last one to close it writes back what it holds), then open it again"
            )

    @property
    def has_strange_companions(self) -> bool:
        """Whether other files stand where the companions were."""
        now = map(self._identity, _COMPANIONS)
        return any(one is not None and one != old for one, old in zip(now, self._companions or (), strict=False))

    @property
    def is_read_only(self) -> bool:
        """Whether the file exists and is only read: it, or what lies next to it (its log), may not be written."""
        if self._read_only:
            return True
        return os.path.isfile(self.path) and not (_writable(self.path) and _writable(os.path.dirname(self.path)))

    def open_to_read(self) -> sqlite3.Connection:
        """A connection that writes nothing; it is for one read, since it may not see what others write meanwhile."""
        options = "mode=ro"
        closed = not os.path.exists(f"{self.path}-wal")  # nobody has the file open to write
        if closed and (self._read_only or not _writable(os.path.dirname(self.path))):
            options += "&immutable=1"  # else SQLite makes files for its locks
        return sqlite3.connect(
            f"file:{quote(self.path)}?{options}", uri=True, isolation_level=None, check_same_thread=False
        )

    def _identity(self, companion: str = "") -> _Identity:
        try:
            status = os.stat(self.path + companion)
        except OSError:
            return None
        return status.st_dev, status.st_ino


def _writable(path: str) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)
