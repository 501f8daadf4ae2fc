"""Checks of what every session store must do, for authors of stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.testing.sessions.machine import play as play

# The state machine needs hypothesis, the other checks do not.
__getattr__, __dir__ = lazy_exports(__name__, {"play": "newel.testing.sessions.machine"})
