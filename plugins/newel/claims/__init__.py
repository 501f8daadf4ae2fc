"""Claims: one run per session at a time, in this process and across the processes that share a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.claims.claim import is_claimed as is_claimed
    from newel.claims.claim import is_claimed_here as is_claimed_here
    from newel.claims.errors import SessionBusyError as SessionBusyError
    from newel.claims.leasing import LeasingStore as LeasingStore
    from newel.claims.leasing import is_leasing as is_leasing
    from newel.claims.settings import steers as steers

_WHERE = {
    "LeasingStore": "newel.claims.leasing",
    "SessionBusyError": "newel.claims.errors",
    "is_claimed": "newel.claims.claim",
    "is_claimed_here": "newel.claims.claim",
    "is_leasing": "newel.claims.leasing",
    "steers": "newel.claims.settings",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
