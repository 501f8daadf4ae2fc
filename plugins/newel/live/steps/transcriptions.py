"""transcriptions: joins, when the turn ends, the pieces that a connection has not joined: history keeps these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from newel_kernel import Event, LlmResponse
from newel_types import Transcription

if TYPE_CHECKING:
    from newel.live.contract import LiveSession
    from newel.live.kinds import InStep


def make(session: LiveSession) -> InStep | None:
    """The step, if the settings ask for it."""
    if not session.settings.sum_transcriptions:
        return None
    inputs: list[str] = []
    outputs: list[str] = []

    def step(response: LlmResponse) -> Sequence[Event] | None:
        for pieces, piece in ((inputs, response.input_transcription), (outputs, response.output_transcription)):
            if piece is not None and (piece.finished or not response.partial):
                pieces.clear()
            elif piece is not None:
                pieces.append(piece.text or "")
        if not (inputs or outputs) or not (response.turn_complete or response.interrupted):
            return None
        events = []
        if inputs:
            sum_ = Transcription(text="".join(inputs), finished=True)
            events.append(session.event(author="user", input_transcription=sum_))
        if outputs:
            events.append(session.event(output_transcription=Transcription(text="".join(outputs), finished=True)))
        inputs.clear()
        outputs.clear()
        return events

    return step
