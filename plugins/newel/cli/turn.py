"""Turn: one message to an agent. Its events are shown; a failure is one line."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from newel.cli.conversation import Conversation
from newel.cli.terminal import origin_of
from newel.cli.transcript import Transcript
from newel.cli.waits import Waits
from newel.events.text import one_line
from newel_compose import describe_error, place_of
from newel_kernel import (
    ConfigurationError,
    Event,
    FeatureUnavailableError,
    NewelError,
    RunConfig,
    StaleSessionError,
    StreamingMode,
)
from newel_types import Content

#: How often a message is sent if the session was not ready for it.
_TRIES = 5


class RunFailedError(Exception):
    """The run failed; the message is one line."""


class TrackingTranscript:
    """A transcript that also notes which of its invocations ask the user for something."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self.asking: set[str] = set()
        self.waits = Waits()

    def begin(self) -> None:
        """A turn begins."""
        self.asking.clear()
        self.waits = Waits()

    def show(self, event: Event) -> None:
        """Show one event."""
        if event.long_running_tool_ids:
            self.asking.add(event.invocation_id)
        self.waits.note(event)
        self._transcript.show(event)

    def cut(self) -> None:
        """No more events come."""
        self._transcript.cut()

    def end(self) -> int:
        """The exit status."""
        return self._transcript.end()


async def run_turn(conversation: Conversation, message: str | Content, transcript: Transcript, *, stream: bool) -> int:
    """Run one turn; return its exit status. A wrong setting is raised, any other failure becomes a RunFailedError."""
    config = RunConfig(streaming_mode=StreamingMode.SSE if stream else StreamingMode.NONE)
    try:
        await show_events(_events(conversation, message, config), transcript.show)
    finally:
        transcript.cut()
    return transcript.end()


async def steer(conversation: Conversation, text: str, transcript: Transcript) -> None:
    """Tell the agent at work something; if it comes too late for that, show the answer to it."""
    config = RunConfig(streaming_mode=StreamingMode.SSE)
    events = conversation.runner.steer(
        user_id=conversation.user, session_id=conversation.session, new_message=text, run_config=config
    )
    await show_events(events, transcript.show)


async def _events(conversation: Conversation, message: str | Content, config: RunConfig) -> AsyncGenerator[Event, None]:
    """The events of a run. If another process was faster with its message, this one is sent again, after it."""
    begun = False
    for tries_left in reversed(range(_TRIES)):
        run = conversation.runner.run_async(
            user_id=conversation.user, session_id=conversation.session, new_message=message, run_config=config
        )
        try:
            async with aclosing(run):
                async for event in run:
                    begun = True
                    yield event
        except StaleSessionError as error:
            refused = error.event
            if begun or not tries_left or not isinstance(refused, Event) or refused.author != "user":
                raise
        else:
            return


async def show_events(events: AsyncGenerator[Event, None], show: Callable[[Event], None]) -> None:
    """Show the events of a run. A wrong setting is raised unchanged, any other failure as RunFailedError."""
    try:
        async with aclosing(events):
            async for event in events:
                show(event)
    except (ConfigurationError, FeatureUnavailableError):
        raise
    except BrokenPipeError:  # the reader of the output has closed it
        raise
    except NewelError as error:
        place = place_of(error) if error.__cause__ is not None else ""
        raise RunFailedError(one_line(error) + place + origin_of(error)) from error
    except Exception as error:
        raise RunFailedError(one_line(describe_error(error))) from error
