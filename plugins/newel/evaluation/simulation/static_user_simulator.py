"""StaticUserSimulator: says what the case says, turn by turn."""

from __future__ import annotations

from newel.evaluation.cases.eval_case import StaticConversation
from newel.evaluation.simulation.user_simulator import (
    BaseUserSimulatorConfig,
    NextUserMessage,
    Status,
    UserSimulator,
)
from newel_kernel import Event


class StaticUserSimulator(UserSimulator):
    """The user of a fixed conversation."""

    def __init__(self, *, static_conversation: StaticConversation) -> None:
        super().__init__(BaseUserSimulatorConfig())
        self.static_conversation = static_conversation
        self._next = 0

    async def get_next_user_message(self, events: list[Event]) -> NextUserMessage:
        """The next message of the conversation."""
        if self._next >= len(self.static_conversation):
            return NextUserMessage(status=Status.STOP_SIGNAL_DETECTED)
        self._next += 1
        return NextUserMessage(
            status=Status.SUCCESS, user_message=self.static_conversation[self._next - 1].user_content
        )
