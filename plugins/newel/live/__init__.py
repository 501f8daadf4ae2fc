"""Live sessions: an agent's run over a connection that stays open, while the user speaks and tools run.

`converse` drives one agent. What happens to a request on its way out and to a response on its way in is steps of two
orders, `live_out` and `live_in`, which plugins provide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.live.configuration import configure as configure
    from newel.live.contract import LiveSession as LiveSession
    from newel.live.driver import converse as converse
    from newel.live.kinds import LiveIn as LiveIn
    from newel.live.kinds import LiveOut as LiveOut
    from newel.live.mode import LiveMode as LiveMode
    from newel.live.mode import has_no_live_mode as has_no_live_mode
    from newel.live.queue import LiveRequest as LiveRequest
    from newel.live.queue import LiveRequestQueue as LiveRequestQueue
    from newel.live.task_completed import IN_SEQUENCE as IN_SEQUENCE

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "IN_SEQUENCE": "newel.live.task_completed",
        "LiveIn": "newel.live.kinds",
        "LiveMode": "newel.live.mode",
        "LiveOut": "newel.live.kinds",
        "LiveRequest": "newel.live.queue",
        "LiveRequestQueue": "newel.live.queue",
        "LiveSession": "newel.live.contract",
        "configure": "newel.live.configuration",
        "converse": "newel.live.driver",
        "has_no_live_mode": "newel.live.mode",
    },
)
