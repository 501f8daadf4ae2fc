"""Claims: one run per session at a time, in this process and across the processes that share a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.claims.errors import SessionBusyError as SessionBusyError
    from newel.claims.leasing import LeasingStore as LeasingStore

_WHERE = {"LeasingStore": "newel.claims.leasing", "SessionBusyError": "newel.claims.errors"}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
