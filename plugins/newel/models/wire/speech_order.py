"""SpeechOrder: an answer stands behind what it answers, although the service transcribes the user meanwhile."""

from __future__ import annotations

from collections.abc import Callable

from newel_kernel import LlmResponse

#: How long an answer waits for the transcription of what it answers, and then for each further piece, in seconds.
PATIENCE = 2.0
PIECE_PATIENCE = 0.3


class SpeechOrder:
    """Holds back what history keeps of an answer until what the user said before it is transcribed.

    Sound, pieces of text and interruptions pass at once; wholes, calls and the end of the turn wait in their order.
    If a transcription does not come in time, the next answers do not wait, until one comes again. `clock` gives
    seconds.
    """

    def __init__(self, clock: Callable[[], float], *, transcribed: bool) -> None:
        self._clock = clock
        self._trusted = transcribed
        #: What the user has said and is not transcribed yet, the oldest first; and the part that this answer follows.
        self._said: dict[str, None] = {}
        self._answered: set[str] = set()
        self._late: set[str] = set()
        self._held: list[LlmResponse] = []
        self._end = 0.0

    def spoke(self, item: str) -> None:
        """Note that the user has said something; twice for one item is once."""
        if self._trusted and item not in self._late:
            self._said[item] = None

    def begun(self) -> None:
        """Note that the model begins an answer to all that was said so far."""
        self._answered |= self._said.keys()

    def goes_on(self) -> None:
        """Note that a piece of what was said has come, and that nobody will say which one is the last."""
        if self._held:
            self._end = self._clock() + PIECE_PATIENCE

    def transcribed(self, item: str) -> None:
        """Note that there is, or will be, no more of the transcription of an item."""
        self._trusted = True
        if item in self._late:
            self._late.discard(item)
            return
        if item not in self._said:  # a service that names its items otherwise
            item = next(iter(self._said), item)
        self._said.pop(item, None)
        self._answered.discard(item)

    def ordered(self, responses: list[LlmResponse]) -> list[LlmResponse]:
        """Those of `responses` that may be passed on now, with those that had to wait for them."""
        passed: list[LlmResponse] = []
        for response in responses:
            if response.interrupted or not (self._answered or response.input_transcription):
                passed += self._released()
            if not self._answered or _passes(response):
                passed.append(response)
                continue
            if not self._held:
                self._end = self._clock() + PATIENCE
            self._held.append(response)
        return passed if self._answered else passed + self._released()

    @property
    def patience(self) -> float | None:
        """How many seconds what is held may still wait; None: nothing is held."""
        return max(self._end - self._clock(), 0.0) if self._held else None

    def give_up(self) -> list[LlmResponse]:
        """What is held, whose time is over."""
        self._trusted = False
        self._late |= self._said.keys()
        self._said.clear()
        self._answered.clear()
        return self._released()

    def _released(self) -> list[LlmResponse]:
        held, self._held = self._held, []
        return held


def _passes(response: LlmResponse) -> bool:
    """Whether a response needs no place in history, or has one that does not depend on the user's words."""
    if response.partial or response.interrupted or response.error_code or response.input_transcription is not None:
        return True
    parts = response.content.parts if response.content is not None else None
    if parts:
        return parts[0].inline_data is not None
    return not (response.output_transcription or response.turn_complete or response.usage_metadata)
