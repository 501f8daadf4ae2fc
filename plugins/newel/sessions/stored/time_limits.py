"""Time limits of a server's connections: a worker that stands still gives its locks back, and no wait is endless."""

from __future__ import annotations

#: How long a statement waits for a lock before the attempt is given up and made again, in seconds, and at most which
#: part of the patience: other writes may have to wait for the attempt.
LOCK_SECONDS, _PART = 1.5, 8
#: How long a transaction may stand still: its worker was stopped, or a tool blocks its event loop. A session whose row
#: it has locked cannot be renewed meanwhile, so that this is also a part of the shortest lease at most.
IDLE_SECONDS, _PART_OF_LEASE = 2.0, 5
#: How long a statement may take.
STATEMENT_SECONDS = 60.0


def postgres_limits(patience: float) -> dict[str, str]:
    """PostgreSQL's settings, in milliseconds, for a store that waits `patience` seconds."""
    return {
        "lock_timeout": _milliseconds(min(LOCK_SECONDS, patience / _PART)),
        "idle_in_transaction_session_timeout": _milliseconds(IDLE_SECONDS),
        "statement_timeout": _milliseconds(max(STATEMENT_SECONDS, patience)),
    }


def mysql_limits(patience: float) -> str:
    """The command that sets MySQL's and MariaDB's limits, in whole seconds; only MariaDB reads the comment."""
    return (
        f"SET SESSION innodb_lock_wait_timeout = {max(int(min(LOCK_SECONDS, patience / _PART)), 1):d} "
        f"/*M!100300 , idle_transaction_timeout = {IDLE_SECONDS:.0f} */"
    )


def postgres_idle(lease_seconds: float) -> str | None:
    """The command that begins a transaction's own limit; None if that of the connection is short enough."""
    seconds = lease_seconds / _PART_OF_LEASE
    if seconds >= IDLE_SECONDS:
        return None
    return f"SET LOCAL idle_in_transaction_session_timeout = {_milliseconds(seconds)}"


def _milliseconds(seconds: float) -> str:
    return str(max(int(seconds * 1000), 1))
