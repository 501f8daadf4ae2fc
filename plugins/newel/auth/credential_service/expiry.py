"""Expiry: store entries that may never be fetched, and that a store drops once they expire."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_kernel import Json, seam

if TYPE_CHECKING:
    from newel_types import AuthCredential

#: The extra field of an AuthCredential with the time at which it expires, in seconds since the epoch.
EXPIRY_FIELD = "kept_until"


def is_over(entry: AuthCredential | Json) -> bool:
    """Whether an entry (a credential, or its JSON) has expired."""
    fields = entry if isinstance(entry, dict) else entry.model_extra or {}
    until = fields.get(EXPIRY_FIELD)
    return isinstance(until, (int, float)) and until < seam.clock()
