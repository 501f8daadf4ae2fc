"""Claims: one run per session at a time, in this process and across the processes that share a store."""

from newel.claims.errors import SessionBusyError
from newel.claims.leasing import LeasingStore

__all__ = ["LeasingStore", "SessionBusyError"]
