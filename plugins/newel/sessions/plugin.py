"""The plugin of the kind that stores sessions."""

from __future__ import annotations

from newel.sessions import kinds
from newel_kernel import Descriptor, Kind, hookimpl


@hookimpl
def register_kinds() -> list[Kind[Descriptor]]:
    """The stores of sessions."""
    return [Kind(kinds.SessionBackend, kinds.register_session_backends)]
