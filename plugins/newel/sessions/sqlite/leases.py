"""Leases: which views of this service run a session, and the statements that say so in the file.

A lease has an owner, an end by the clock of the file's machine, and an epoch, which counts those that there were. The
view that holds it appends under that epoch. Once another owner has taken it, the epoch is another one: see FencedError.
"""

from __future__ import annotations

import os
import socket
import sqlite3
import threading
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from newel.sessions.sqlite.writer import Batch
from newel_kernel import Session

#: The seconds since the epoch, in SQL.
NOW = "((julianday('now') - 2440587.5) * 86400.0)"
#: Whether nobody else has the lease; the parameters are the owner, and one who is known to be dead.
FREE = f"(owner IS NULL OR owner = ? OR owner = ? OR lease_until <= {NOW})"

#: Who has the lease of a session, in SQL; and what takes it.
HOLDER = f"CASE WHEN lease_until > {NOW} THEN owner END"
TAKE = f"lease = lease + 1, owner = ?, lease_until = {NOW} + ?"


@dataclass(slots=True)
class Lease:
    """What a view holds, or will hold with its next append (`taken` is False until then)."""

    view: Session
    number: int
    owner: str
    #: Who had it before, and is known to be dead.
    before: str | None
    seconds: float
    #: Prolonged by the service while it lasts, and not only by appends.
    lasting: bool
    taken: bool = False


@dataclass(frozen=True, slots=True)
class Take:
    """Takes the lease of a session; the result is its epoch, or None where somebody else has it."""

    #: The app, the user and the session.
    key: tuple[str, str, str]
    owner: str
    #: Who had it before, and is known to be dead.
    before: str | None
    seconds: float

    def __call__(self, batch: Batch) -> int | None:
        row = batch.connection.execute(
            f"UPDATE sessions SET {TAKE} WHERE app_name = ? AND user_id = ? AND id = ? AND {FREE} RETURNING lease",  # noqa: S608
            (self.owner, self.seconds, *self.key, self.owner, self.before),
        ).fetchone()
        return row[0] if row else None


@dataclass(frozen=True, slots=True)
class Prolong:
    """Prolongs a lease (None: gives it back); the result says whether it was still held."""

    number: int
    lease: int
    seconds: float | None

    def __call__(self, batch: Batch) -> bool:
        change = "owner = NULL, lease_until = ?" if self.seconds is None else f"lease_until = {NOW} + ?"
        update = batch.connection.execute(
            f"UPDATE sessions SET {change} WHERE number = ? AND lease = ?",  # noqa: S608
            (self.seconds, self.number, self.lease),
        )
        return bool(update.rowcount)


class Leases:
    """The leases of one service."""

    def __init__(self) -> None:
        self.owner = _new_owner()
        self._leases: dict[int, Lease] = {}
        self._lock = threading.Lock()

    def add(self, lease: Lease) -> None:
        """Remember a lease."""
        with self._lock:
            self._leases[id(lease.view)] = lease

    def of(self, view: Session) -> Lease | None:
        """The lease of a view, or None."""
        return self._leases.get(id(view)) if self._leases else None

    def drop(self, view: Session) -> Lease | None:
        """Forget the lease of a view."""
        with self._lock:
            return self._leases.pop(id(view), None)

    @property
    def interval(self) -> float | None:
        """How often the lasting leases want to be prolonged, in seconds; None: there are none."""
        if not self._leases:
            return None
        with self._lock:
            seconds = [lease.seconds for lease in self._leases.values() if lease.lasting and lease.taken]
        return min(seconds) / 3 if seconds else None

    def prolong(self, connection: sqlite3.Connection) -> None:
        """Prolong the lasting leases."""
        with self._lock:
            lasting = [one for one in self._leases.values() if one.lasting and one.taken]
        for lease in lasting:
            connection.execute(
                f"UPDATE sessions SET lease_until = {NOW} + ? WHERE number = ? AND lease = ?",  # noqa: S608
                (lease.seconds, lease.number, lease.view.lease),
            )

    def forget(self) -> None:
        """Begin anew, in a child process: what its parent holds is not its own."""
        self.owner, self._leases, self._lock = _new_owner(), {}, threading.Lock()


def _new_owner() -> str:
    return f"{socket.gethostname()}/{os.getpid()}/{_started(os.getpid())}/{uuid4().hex[:8]}"


def is_dead(owner: str) -> bool:
    """Whether `owner` is a service of a process of this machine that is gone: its lease need not run out."""
    host, _, rest = owner.partition("/")
    number, _, rest = rest.partition("/")
    if host != socket.gethostname() or not number.isdigit():
        return False
    pid = int(number)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:  # it is somebody else's, and alive
        return False
    return _started(pid) != rest.partition("/")[0]  # another process has got the number


def _started(pid: int) -> str:
    """When a process of this machine began, in its own unit; empty where the machine does not say."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[19]
