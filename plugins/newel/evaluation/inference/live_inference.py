"""Live inference: a case run over one live connection; each message of the user is a turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING

from newel.agents.sequential_agent import SequentialAgent
from newel.contexts.run_config import RunConfig
from newel.evaluation.cases.eval_case import Invocation
from newel.evaluation.inference.turn_recording import (
    Span,
    TurnRecorder,
    app_details,
    invocation_of,
    kept_spans,
    recorder,
)
from newel.live import LiveRequestQueue
from newel.live.task_completed import NAME as TASK_COMPLETED
from newel_kernel import BaseAgent, Event, ModelError, seam
from newel_types import AutomaticActivityDetection, Blob, Content, Part, RealtimeInputConfig

if TYPE_CHECKING:
    from newel.runners import Runner

#: Bytes of a piece of audio: half a second at 16 kHz.
_PIECE = 16_000


class LiveConversation:
    """A live run that gets one message at a time. Speech appears in its turns as text."""

    def __init__(self, seconds: float) -> None:
        #: How long the agent may take for a turn.
        self._seconds = seconds
        self._queue = LiveRequestQueue()
        self._recorder = TurnRecorder()
        self._ended = asyncio.Event()
        self._failure: str | None = None
        self._over = False
        #: How many turns began, and whether the last one was reported complete.
        self._turns = 0
        self._complete = False
        self._events: list[Event] = []
        self._pieces: dict[str, str] = {}
        self._open_calls: set[str] = set()
        #: The agents whose task is the last of the run.
        self._last: set[str] = set()

    async def run(self, runner: Runner, user: str, session_id: str) -> None:
        """Hold the connection until `close`."""
        recorder.set(self._recorder)
        self._last = _last_steps(runner.agent)
        config = RunConfig(
            response_modalities=["AUDIO"],
            # The simulated user marks when it speaks; there is no need to wait for silence.
            realtime_input_config=RealtimeInputConfig(
                automatic_activity_detection=AutomaticActivityDetection(disabled=True)
            ),
        )
        run = runner.run_live(user_id=user, session_id=session_id, live_request_queue=self._queue, run_config=config)
        try:
            async with aclosing(run):
                async for event in run:
                    self._note(event)
        finally:
            self._over = True
            self._ended.set()

    async def turn(self, message: Content) -> tuple[Invocation, list[Event]]:
        """Send `message`, and wait until the agent has ended its turn."""
        self._turns += 1
        if self._over:
            raise self._error("the live connection ended before the user had said everything")
        self._ended.clear()
        self._complete = False
        self._events, self._pieces = [], {}
        self._recorder.begin()
        began = seam.monotonic()
        self._send(message)
        try:
            async with asyncio.timeout(self._seconds):
                await self._ended.wait()
        except TimeoutError:
            raise self._error(
                f"the live agent did not end its turn within {self._seconds:g} seconds; "
                f"timeout_seconds of live_model_config is how long it may take"
            ) from None
        if self._failure is not None:
            raise self._error(self._failure)
        if not self._complete:
            raise self._error("the live connection ended before the agent had ended its turn")
        for author in list(self._pieces):
            self._speak(author, self._pieces.pop(author))
        return self._invocation(message, seam.monotonic() - began)

    def _error(self, why: str) -> ModelError:
        return ModelError(f"turn {self._turns}: {why}")

    def close(self) -> None:
        """End the user's input, and with it the run."""
        self._queue.close()

    def _send(self, message: Content) -> None:
        sounds = [part.inline_data for part in message.parts or () if part.inline_data is not None]
        if not sounds:
            self._queue.send_content(message)
            return
        self._queue.send_activity_start()
        for blob in sounds:
            data = blob.data or b""
            for start in range(0, len(data), _PIECE):
                self._queue.send_realtime(Blob(data=data[start : start + _PIECE], mime_type=blob.mime_type))
        self._queue.send_activity_end()

    def _note(self, event: Event) -> None:
        if event.error_code:
            self._failure = f"the live model failed: {event.error_code}: {event.error_message or ''}"
            self._ended.set()
        output = event.output_transcription
        if output is not None:
            text = output.text or ""
            if output.finished or not event.partial:
                self._pieces.pop(event.author, None)
                self._speak(event.author, text)
            else:
                self._pieces[event.author] = self._pieces.get(event.author, "") + text
        elif not event.partial and event.author != "user":
            self._keep(event)
        late = event.long_running_tool_ids or set()
        responses = event.get_function_responses()
        self._open_calls |= {call.id for call in event.get_function_calls() if call.id and call.id not in late}
        self._open_calls -= {response.id or "" for response in responses}
        # The last agent of a sequence ends the run with that tool; no turn is reported complete after it.
        if event.author in self._last and any(response.name == TASK_COMPLETED for response in responses):
            self._complete = True
        if event.turn_complete and not self._open_calls:
            self._complete = True
            self._ended.set()

    def _keep(self, event: Event) -> None:
        parts = event.content.parts if event.content is not None else None
        if parts and any(part.inline_data is None for part in parts):
            self._events.append(event)
        elif event.usage_metadata is not None and self._events and self._events[-1].usage_metadata is None:
            # The usage of a turn arrives at its end; it belongs to the last event.
            self._events[-1] = self._events[-1].model_copy(update={"usage_metadata": event.usage_metadata})

    def _speak(self, author: str, text: str) -> None:
        if text:
            self._events.append(Event(author=author, content=Content(role="model", parts=[Part(text=text)])))

    def _invocation(self, message: Content, seconds: float) -> tuple[Invocation, list[Event]]:
        events = self._events
        turn_id = seam.new_id()
        invocation = invocation_of(message, events, app_details(self._recorder))
        invocation.invocation_id, invocation.duration = turn_id, seconds
        invocation.tool_duration = self._recorder.seconds("tool")
        # The model listens and speaks all the time; only the time of the tools is known separately.
        invocation.model_duration = max(0.0, seconds - invocation.tool_duration)
        if (spans := kept_spans.get()) is not None:
            tools = [span for span in self._recorder.spans if span.kind == "tool"]
            spans.append([Span("model", events[-1].author if events else "", 0.0, seconds), *tools])
        question = Event(author="user", content=message, invocation_id=turn_id)
        return invocation, [question, *events]


def _last_steps(agent: BaseAgent, *, ends: bool = True, is_step: bool = False) -> set[str]:
    """The names of the agents, from `agent` down, whose task ends the run; `ends`: the task of `agent` may end it."""
    is_sequence = isinstance(agent, SequentialAgent)
    names = {agent.name} if ends and is_step and not is_sequence else set()
    for sub in agent.sub_agents:
        last = ends and (not is_sequence or sub is agent.sub_agents[-1])
        names |= _last_steps(sub, ends=last, is_step=is_sequence)
    return names


@asynccontextmanager
async def live_conversation(
    runner: Runner, user: str, session_id: str, seconds: float
) -> AsyncIterator[LiveConversation]:
    """A live run of the session; on exit it has ended, and its failure is raised."""
    conversation = LiveConversation(seconds)
    run = seam.spawn(conversation.run(runner, user, session_id), name="live run")
    try:
        yield conversation
        conversation.close()
        await run
    except ModelError:
        if run.done() and not run.cancelled() and (error := run.exception()) is not None:
            raise error from None  # why the connection ended says more than that it did
        raise
    finally:
        run.cancel()
        await asyncio.gather(run, return_exceptions=True)
