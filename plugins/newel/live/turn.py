"""Turn: the model's turns within a session, each of which counts as a call and is an operation of its own."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from newel_kernel import Event, current_operation

if TYPE_CHECKING:
    from newel.live.contract import LiveSession


class Turn:
    """Begins with the first thing that the model says, and ends when it says that its turn is complete."""

    __slots__ = ("_operation", "_outcome", "_session", "running")

    def __init__(self, session: LiveSession) -> None:
        self._session = session
        self._operation = ExitStack()
        self._outcome: list[Event] | None = None
        self.running = False

    def note(self, event: Event) -> None:
        """Take note of an event of the model."""
        if not self.running and event.author != "user" and (event.content is not None or event.output_transcription):
            self._begin()
        if not self.running:
            return
        if event.usage_metadata is not None and self._outcome is not None:
            self._outcome[:] = [event]
        if event.turn_complete:
            self.end()

    def _begin(self) -> None:
        session = self._session
        session.ctx.increment_llm_call_count()
        self.running = True
        if (parent := current_operation.get()) is not None:
            name = session.request.model or session.model.model
            call = parent.child("model", name, session.ctx, session.model, session.request)
            self._outcome = self._operation.enter_context(call.running())

    def end(self) -> None:
        """End the turn, if one is running."""
        self.running = False
        self._operation.close()
