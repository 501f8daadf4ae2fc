"""transcriptions: pieces that a connection has not summed up are, when the turn ends: history keeps the sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from newel_kernel import Event, LlmResponse
from newel_types import Transcription

if TYPE_CHECKING:
    from newel.live.contract import LiveSession
    from newel.live.kinds import InStep


def make(session: LiveSession) -> InStep | None:
    """The step, where the settings ask for it."""
    if not session.settings.sum_transcriptions:
        return None
    heard: list[str] = []
    said: list[str] = []

    def step(response: LlmResponse) -> Sequence[Event] | None:
        for pieces, piece in ((heard, response.input_transcription), (said, response.output_transcription)):
            if piece is not None and (piece.finished or not response.partial):
                pieces.clear()
            elif piece is not None:
                pieces.append(piece.text or "")
        if not (heard or said) or not (response.turn_complete or response.interrupted):
            return None
        events = []
        if heard:
            sum_ = Transcription(text="".join(heard), finished=True)
            events.append(session.event(author="user", input_transcription=sum_))
        if said:
            events.append(session.event(output_transcription=Transcription(text="".join(said), finished=True)))
        heard.clear()
        said.clear()
        return events

    return step
