"""Expiry: entries of a store that nobody may come for, and that a store drops once their time is over."""

from __future__ import annotations

from newel_kernel import Json, seam
from newel_types import AuthCredential

#: The unknown field of an AuthCredential that says until when it is kept, in seconds since the epoch.
UNTIL = "kept_until"


def is_over(entry: AuthCredential | Json) -> bool:
    """Whether the time of an entry (a credential, or its JSON) is over."""
    fields = entry if isinstance(entry, dict) else entry.model_extra or {}
    until = fields.get(UNTIL)
    return isinstance(until, (int, float)) and until < seam.clock()
