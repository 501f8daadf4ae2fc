"""Budgets: what runs, sessions, users and apps may spend on models, in money, tokens, calls and time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.budgets.errors import BudgetExceededError as BudgetExceededError
    from newel.budgets.kinds import BudgetStore as BudgetStore
    from newel.budgets.ledger import Account as Account
    from newel.budgets.ledger import Claim as Claim
    from newel.budgets.ledger import Ledger as Ledger
    from newel.budgets.ledger import Verdict as Verdict
    from newel.budgets.payer import ledger_of as ledger_of
    from newel.budgets.payer import paid_by as paid_by
    from newel.contexts.limits import Limit as Limit

_WHERE = {
    "Account": "newel.budgets.ledger",
    "BudgetExceededError": "newel.budgets.errors",
    "BudgetStore": "newel.budgets.kinds",
    "Claim": "newel.budgets.ledger",
    "Ledger": "newel.budgets.ledger",
    "Limit": "newel.contexts.limits",
    "Verdict": "newel.budgets.ledger",
    "ledger_of": "newel.budgets.payer",
    "paid_by": "newel.budgets.payer",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
