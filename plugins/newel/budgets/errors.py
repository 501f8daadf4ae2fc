"""The error of a call that a budget refuses."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from newel.contexts.limits import AtLimit, Limit, period_end, shown_account, shown_amount
from newel_kernel import ModelError

if TYPE_CHECKING:
    from newel.budgets.ledger import Verdict
    from newel_kernel import Json

CODE = "BUDGET_EXCEEDED"


class BudgetExceededError(ModelError):
    """A budget has nothing left for the call: `details` says which, how much, and until when."""

    def __init__(self, reason: str, details: Json, at_limit: AtLimit) -> None:
        super().__init__(
            f"{reason} (account {shown_account(details['account'])}; `newel budgets raise` gives it more)", code=CODE
        )
        #: Which budget is used up, and how much is spent, in words.
        self.reason = reason
        #: `account`, `unit`, `limit`, `spent` (in the limit's unit), and `until` (seconds since the epoch, or None).
        self.details = details
        self.at_limit = at_limit

    @property
    def other_model_helps(self) -> bool:
        """Whether another model may answer in the place of the one that was refused."""
        return self.at_limit == "cheaper"


def exceeded(limit: Limit, verdict: Verdict, now: float, *, waited: float | None = None) -> BudgetExceededError:
    """The error of a verdict; `waited` is for how many seconds the call has waited for others to end."""
    claim = verdict.claim
    assert claim is not None
    assert claim.limit is not None
    most, until = claim.limit + verdict.raised, period_end(limit, now)
    spent = f"{shown_amount(claim.unit, verdict.spent)} of {shown_amount(claim.unit, most)} spent"
    if waited is None:
        text = f"the budget of {_whose(limit)} is used up: {spent}"
    else:
        text = f"the budget of {_whose(limit)} is held by calls under way, for {waited:g} seconds now: {spent}"
    text += f"; it begins again at {_shown_time(until)}" if until is not None else ""
    details: Json = {
        "account": claim.account,
        "unit": claim.unit,
        "limit": most,
        "spent": verdict.spent,
        "until": until,
        "at_limit": limit.at_limit,
    }
    return BudgetExceededError(text, details, limit.at_limit)


def _whose(limit: Limit) -> str:
    whose = "all apps" if limit.per == "all" else f"this {limit.per}"
    return f"{whose} for the {limit.period}" if limit.period else whose


def _shown_time(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))
