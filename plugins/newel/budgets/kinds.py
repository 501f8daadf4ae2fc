"""The kind `BudgetStore`: where the accounts of a session store's budgets are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from newel_kernel import Descriptor, Settings, hookspec

if TYPE_CHECKING:
    from newel.budgets.ledger import Ledger
    from newel_kernel import BaseSessionService


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetStore(Descriptor):
    """Makes the ledger of a session store. `open` is called in each invocation that has limits, and
    returns None for the stores of others."""

    open: Callable[[BaseSessionService], Ledger | None]


@hookspec
def register_budget_stores(settings: Settings) -> Sequence[BudgetStore]:
    """Where budgets are kept. Makes the ledger of a session store, best in the same database.

    >>> from newel.budgets.kinds import BudgetStore
    >>> from newel.budgets.memory import MemoryLedger
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_budget_stores(self):
    ...         return [BudgetStore(name="volatile", open=lambda service: MemoryLedger())]
    >>> composed = compose("standard", plugins=[Plugin()])
    >>> composed.registry.find(BudgetStore, "volatile").name
    'volatile'
    """
    return ()
