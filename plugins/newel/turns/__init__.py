"""Turns: which agent answers a message, which invocation it continues, and what waits for an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.turns.acceptance import Acceptance as Acceptance
    from newel.turns.interruption import finish_calls as finish_calls
    from newel.turns.late_answers import Refusal as Refusal

# Loaded late: running tools again with the first interrupted invocation, a refusal with the first late answer, an
# acceptance with the first that was stored while no run had the session.
_WHERE = {
    "Acceptance": "newel.turns.acceptance",
    "Refusal": "newel.turns.late_answers",
    "finish_calls": "newel.turns.interruption",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
