"""Where the gates of a store of sessions are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel.limits.memory import of_memory
from newel.limits.stored import of_database
from newel_kernel import ConfigurationError

if TYPE_CHECKING:
    from newel.limits.gates import Gates
    from newel_kernel import BaseSessionService


def gates_of(service: BaseSessionService) -> Gates:
    """The gates in a store of sessions; a ConfigurationError if it cannot have any."""
    gates = of_memory(service) or of_database(service)
    if gates is None:
        raise ConfigurationError(
            f"{type(service).__name__} keeps no limits: use sessions in memory, SQLite, PostgreSQL, MariaDB or MySQL "
            f"(also behind Redis)"
        )
    return gates
