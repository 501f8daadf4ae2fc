"""Telling observers what a budget decided: an operation ``budget``, within that of the model call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from newel.contexts.limits import SCALE, Unit
from newel_kernel import Json, Operation, current_operation

if TYPE_CHECKING:
    from newel.budgets.ledger import Verdict
    from newel.contexts.limits import Limit


def tell(state: str, facts: Json) -> None:
    """Tell observers, if there are any. The operation's input is the facts, as attributes of telemetry."""
    if (parent := current_operation.get()) is None:
        return
    named = {f"newel.budget.{name}": value for name, value in {"state": state, **facts}.items() if value is not None}
    ids = parent.session_id, parent.invocation_id
    with Operation("budget", state, *ids, None, named, parent, parent.observers).running():
        pass


def of_settlement(used: Mapping[Unit, int], waited: float) -> Json:
    """What a call took, in dollars, tokens, calls and seconds, and for how long it has waited for others."""
    return {**{unit: amount / SCALE[unit] for unit, amount in used.items()}, "waited": round(waited, 3)}


def of_refusal(limit: Limit, verdict: Verdict) -> Json:
    """Whose limit it is, without names, and what is spent of how much, in the limit's own unit."""
    claim = verdict.claim
    assert claim is not None
    assert claim.limit is not None
    scale = SCALE[claim.unit]
    return {
        "per": limit.per,
        "period": limit.period,
        "unit": claim.unit,
        "limit": (claim.limit + verdict.raised) / scale,
        "spent": verdict.spent / scale,
    }
