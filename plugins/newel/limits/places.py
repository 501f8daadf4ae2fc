"""Where the gates of limits are: in the store of the sessions, or in what the distribution names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel.limits.kinds import LimitBackend
from newel.limits.memory import of_memory
from newel.limits.stored import of_database
from newel_compose import Composition
from newel_kernel import ConfigurationError, Key

if TYPE_CHECKING:
    from newel.limits.gates import Gates
    from newel_kernel import BaseSessionService, Chains


#: Those that a composition's distribution names.
_NAMED = Key["Gates | None"]("the gates of a composition")


def gates_of(service: BaseSessionService, chains: Chains | None = None) -> Gates:
    """The gates that the distribution names (``services: {limits: URI}``), else those in the store of the sessions.

    Raises ConfigurationError if there are none.
    """
    gates = _named(chains) or of_memory(service) or of_database(service)
    if gates is None:
        raise ConfigurationError(
            f"{type(service).__name__} keeps no limits: use sessions in memory, SQLite, PostgreSQL, MariaDB or MySQL "
            f"(also behind Redis), or name a keeper of limits in the distribution: services: {{limits: redis://HOST}}"
        )
    return gates


def _named(chains: Chains | None) -> Gates | None:
    if not isinstance(chains, Composition):
        return None
    if _NAMED not in chains.stash:
        chains.stash[_NAMED] = chains.open_service(LimitBackend)
    return chains.stash[_NAMED]
