"""The accounts of the distribution's budgets: the cases of a run and its judges share those of the session store."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from newel.budgets.payer import PLUGIN, evaluated, ledger_of
from newel.budgets.settings import Settings
from newel.contexts.limits import Owner
from newel.evaluation.inference.case_inference import DEFAULT_APP, DEFAULT_USER
from newel.sessions.in_memory_session_service import InMemorySessionService
from newel.sessions.kinds import SessionBackend

if TYPE_CHECKING:
    from newel.evaluation.runs.units import Unit
    from newel_compose import Composition
    from newel_kernel import BaseSessionService


class BudgetAccounts:
    """The accounts in a session store that a run has opened."""

    def __init__(self, composition: Composition, store: BaseSessionService) -> None:
        self._composition = composition
        self._store = store
        self._ledger = ledger_of(composition, store)

    def of(self, unit: Unit, run_id: str) -> AbstractContextManager[None]:
        """A block in which the calls of a case and of its judges count on the case's app and user."""
        place = unit.case.session_input
        app = (place.app_name if place is not None else "") or DEFAULT_APP
        user = (place.user_id if place is not None else "") or DEFAULT_USER
        return evaluated(self._composition, self._ledger, Owner(app, user, run_id, unit.case.eval_id))

    async def close(self) -> None:
        """Close the store."""
        await self._store.close()


def open_accounts(composition: Composition) -> BudgetAccounts | None:
    """The accounts of the distribution's session store; None: it has no limits."""
    if not composition.settings_of(PLUGIN, Settings).limits:
        return None
    return BudgetAccounts(composition, composition.open_service(SessionBackend) or InMemorySessionService())
