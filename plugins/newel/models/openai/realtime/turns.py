"""Turns: whose turn it is, and the events that tell the service. One response is made at a time."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from newel.models.wire.playback import Playback
from newel_kernel import Json

#: The start of the ids of events that may come too late, which is not an error.
LATE = "newel_late_"


class Turns:
    """Notes the response that is being made, and asks for the next one when it is due.

    `clock` gives seconds; by it, we know how much of the model's speech was heard.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._ids = count(1)
        self._clock = clock
        self._playback = Playback()
        #: A response is being made (`active`), or was requested and has not begun yet.
        self.active = False
        self._requested = False
        #: The client has cut the sound of a finished response; the consumer is notified once the service has confirmed.
        self.silenced = False
        #: How much of the speech that was cut last was heard, from 0 to 1; None: all of it.
        self.heard: float | None = None
        #: Another response is wanted once the present one is done.
        self._again = False

    def ask(self) -> list[Json]:
        """Ask for a response, now or once the present one is done."""
        if self.active or self._requested:
            self._again = True
            return []
        self._requested = True
        return [{"type": "response.create"}]

    def interrupt(self) -> list[Json]:
        """Have the present response stop."""
        if not self.active and not self._requested:
            return []
        self._again = False
        return [{"type": "response.cancel", "event_id": self._late()}]

    def play(self, item: str, index: int, size: int) -> None:
        """Note that `size` more bytes of the model's speech are passed on."""
        self._playback.add(item, index, size, self._clock())

    @property
    def speaking(self) -> bool:
        """Whether a response is being made, or can still be heard."""
        return self.active or self._playback.is_on(self._clock())

    def truncate(self) -> list[Json]:
        """Have the service forget the speech that was not heard; no event if all was heard."""
        length = self._playback.length
        position = self._playback.stop(self._clock())
        self.heard = None if position is None else position[2] / length
        if position is None:
            return []
        item, index, ms = position
        where = {"item_id": item, "content_index": index, "audio_end_ms": ms}
        return [{"type": "conversation.item.truncate", "event_id": self._late(), **where}]

    def silence(self) -> list[Json]:
        """Cut the sound of a finished response."""
        events = self.truncate()
        self.silenced = bool(events)
        return events

    def begun(self) -> None:
        """Note that a response has begun, requested by us or not."""
        self.active, self._requested = True, False

    def done(self) -> list[Json]:
        """Note that the response is done; ask for the next one, if one is wanted."""
        self.active = False
        if not self._again:
            return []
        self._again = False
        return self.ask()

    def too_early(self) -> None:
        """Note that the service refused a response because of another one that it had begun itself."""
        self._requested, self._again = False, True

    def _late(self) -> str:
        return f"{LATE}{next(self._ids)}"
