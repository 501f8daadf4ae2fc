"""Where the gates of limits are: in the store of the sessions, or in what the distribution names."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING
from weakref import WeakSet

from newel.limits.kinds import LimitBackend
from newel.limits.memory import of_memory
from newel.limits.stored import of_database
from newel.runs.closing import Closing
from newel_compose import Composition
from newel_kernel import ConfigurationError, Key

if TYPE_CHECKING:
    from newel.limits.gates import Gates
    from newel_kernel import BaseSessionService, Chains


#: Address -> those that were opened there: what is made of a composition has its own.
_opened: defaultdict[str, WeakSet[Gates]] = defaultdict(WeakSet)
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
        chains.stash[_NAMED] = gates = chains.open_service(LimitBackend)
        if gates is not None:
            _opened[chains.distribution.services.get(LimitBackend.service, "")].add(gates)
    return chains.stash[_NAMED]


async def close_gates(address: str) -> None:
    """Close what the gates at an address have in the running event loop; whoever still uses them connects again."""
    for gates in [*_opened.get(address, ())]:
        if isinstance(gates, Closing):
            await gates.close()
