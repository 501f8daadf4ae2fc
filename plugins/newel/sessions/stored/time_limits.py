"""Time limits of a server's connections: a worker that stands still gives its locks back, and no wait is endless."""

from __future__ import annotations

from collections.abc import Mapping

#: How long a statement waits for a lock before the attempt is given up and made again, in seconds, and at most which
#: part of the patience: other writes may have to wait for the attempt.
LOCK_SECONDS, _PART = 1.5, 8
#: How long a transaction may stand still: its worker was stopped, or a tool blocks its event loop.
IDLE_SECONDS = 2.0
#: A session whose row a transaction has locked cannot be renewed while that one waits or stands still, so that both
#: limits are such a part of the shortest lease at most.
_PART_OF_LEASE = 5
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


def postgres_own_limits(lease_seconds: float, patience: float) -> dict[str, str]:
    """A transaction's own settings; none if those of the connection are short enough for such a lease."""
    seconds = lease_seconds / _PART_OF_LEASE
    if seconds >= IDLE_SECONDS:
        return {}
    return {
        "lock_timeout": _milliseconds(min(LOCK_SECONDS, patience / _PART, seconds)),
        "idle_in_transaction_session_timeout": _milliseconds(seconds),
    }


def set_local(limits: Mapping[str, str]) -> str:
    """The one statement that makes PostgreSQL's settings those of the transaction that runs."""
    return "SELECT " + ", ".join(f"set_config('{name}', '{value}', true)" for name, value in limits.items())


def _milliseconds(seconds: float) -> str:
    return str(max(int(seconds * 1000), 1))
