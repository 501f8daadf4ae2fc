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
from newel_kernel import Json, Message
from newel_types import Content

if TYPE_CHECKING:
    from newel.server.state import State


class _EngineSteering(Steering):
    """One message to a session that a worker may have; a run that it gets for itself is a worker's, too."""

    def __init__(self, server: State, runner: Runner, where: Place, message: Message, options: Json) -> None:
        config = runner.default_config()
        if metadata := options.get("custom_metadata"):
            config = config.model_copy(update={"custom_metadata": metadata})
        super().__init__(runner, where["user_id"], where["session_id"], message, config)
        self._server = server
        self._place = where
        self._options = options

    async def _run(self, message: Message) -> Events:
        told: Any = message.mode  # it has the messages that are stored already
        what = (None, told.messages[0].invocation_id) if told is not None else (message.content, None)
        options = {**self._options, "state_delta": message.state_delta}
        _, events = await submitted_events(self._server, self.runner, self._place, *what, **options)
        async with aclosing(events):
            async for event in events:
                yield event


def steered(
    server: State, runner: Runner, where: Place, content: Content, *, state_delta: Json | None = None, **options: Any
) -> Run:
    """A run of this process that says something to the agent at work, or follows the run that the message gets."""
    message = Message(content, None, state_delta, True)
    events = _EngineSteering(server, runner, where, message, options).events()
    return runner.runs.start(events, where["user_id"], where["session_id"], partial(stored, server, where))
