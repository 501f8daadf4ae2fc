"""Engine steering: what is said to an agent that a worker runs."""

from __future__ import annotations

from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any

from newel.runners import Runner
from newel.runners.steering import Events, Steering
from newel.runs import Run
from newel.server.engine_runs import stored, submitted_events
from newel.server.places import Place
from newel_kernel import Message
from newel_types import Content

if TYPE_CHECKING:
    from newel.server.state import State


class _EngineSteering(Steering):
    """One message to a session that a worker may have; a run that it gets for itself is a worker's, too."""

    def __init__(self, server: State, runner: Runner, where: Place, message: Message, *, streaming: bool) -> None:
        super().__init__(runner, where["user_id"], where["session_id"], message, runner.default_config())
        self._server = server
        self._place = where
        self._streaming = streaming

    async def _run(self, message: Message) -> Events:
        told: Any = message.mode  # it has the messages that are stored already
        what = (None, told.messages[0].invocation_id) if told is not None else (message.content, None)
        _, events = await submitted_events(self._server, self.runner, self._place, *what, streaming=self._streaming)
        async with aclosing(events):
            async for event in events:
                yield event


def steered(server: State, runner: Runner, where: Place, content: Content, *, streaming: bool) -> Run:
    """A run of this process that says something to the agent at work, or follows the run that the message gets."""
    message = Message(content, None, None, True)
    events = _EngineSteering(server, runner, where, message, streaming=streaming).events()
    return runner.runs.start(events, where["user_id"], where["session_id"], partial(stored, server, where))
