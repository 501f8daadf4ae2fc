"""`newel talk`: a live conversation in the terminal, or between WAV files."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from pathlib import Path

import click

from newel.agents import LiveRequestQueue, RunConfig
from newel.cli.chat import Interrupt, Prompt, TerminalPrompt, on_interrupt
from newel.cli.conversation import Conversation, Options, conversation_options, converse
from newel.cli.debugging import show_traceback
from newel.cli.exit import run_loop
from newel.cli.question_prompt import QuestionPrompt
from newel.cli.terminal import ctrl_d_kept, say, shown
from newel.cli.transcript import Dialogue
from newel.cli.turn import RunFailedError, show_events
from newel.cli.wave_files import Loudspeaker, Microphone
from newel.models.contract import LiveCapabilities, ModelCapabilities
from newel.models.kinds import model_of
from newel_kernel import ConfigurationError, Event, seam
from newel_types import Content, Part

#: How long a piece of the microphone lasts, in seconds.
_PIECE_SECONDS = 0.02


class LivePipe:
    """Lines of a pipe or a file; the session continues while it waits for a line."""

    between_turns: Interrupt | None = None

    async def read(self) -> str | None:
        """The next line."""
        line = await asyncio.to_thread(sys.stdin.buffer.readline)
        return line.decode("utf-8", "replace") if line else None


@click.command("talk")
@click.option("--audio-in", metavar="FILE", help="Send this WAV file (16 bit, one channel) instead of typed lines.")
@click.option("--audio-out", metavar="FILE", help="Write what the agent says into this WAV file.")
@conversation_options
@click.pass_context
def talk(
    ctx: click.Context,
    agent: str,
    session: str | None,
    user: str,
    model: str | None,
    sessions: str | None,
    distribution: str | None,
    audio_in: str | None,
    audio_out: str | None,
) -> None:
    """Talk to AGENT over a live connection. Ctrl-C interrupts an answer, Ctrl-D ends.

    Typed lines are sent as text; answers are shown as text, or as a transcript of what is spoken.
    """
    microphone = Microphone(Path(audio_in)) if audio_in is not None else None
    options = Options(session=session, user=user, model=model, sessions=sessions, distribution=distribution)
    conversation = converse(ctx, agent, options)
    live = _live(conversation)
    if microphone is not None and live is not None and microphone.rate not in live.input_rates:
        rates = " or ".join(map(str, live.input_rates))
        raise ConfigurationError(
            f"--audio-in {audio_in}: the model hears {rates} Hz, but the file has {microphone.rate}: convert it with "
            f"`ffmpeg -i {audio_in} -ar {live.input_rates[0]} out.wav`"
        )
    speaks = microphone is not None or audio_out is not None or (live is not None and "TEXT" not in live.modalities)
    at_terminal = sys.stdin.isatty() and sys.stdout.isatty() and microphone is None
    with Loudspeaker(Path(audio_out) if audio_out is not None else None) as loudspeaker:
        talking = Talk(conversation, loudspeaker, speaks=speaks, at_terminal=at_terminal)
        if microphone is not None:
            _run(talking.hold(talking.listen_to(microphone)))
        elif not at_terminal:
            _run(talking.hold(talking.read(LivePipe())))
        else:
            say(f"{conversation.agent.name} - Ctrl-C interrupts an answer, Ctrl-D ends", dim=True)
            with ctrl_d_kept():
                _run(talking.hold(talking.read(TerminalPrompt())))
            say(f"(to continue: --session {shown(conversation.session)})", dim=True)


def _run(work: Coroutine[object, object, None]) -> None:
    try:
        run_loop(work)
    except RunFailedError as error:
        show_traceback(error)
        say(f"Error: the run failed: {error}", err=True)
        sys.exit(1)


def _live(conversation: Conversation) -> LiveCapabilities | None:
    """What the root agent's model can do over a live connection; None if it does not say."""
    choice = getattr(conversation.agent, "model", "")
    model = model_of(conversation.runner.composition, choice) if isinstance(choice, str) else choice
    capabilities: ModelCapabilities = model.capabilities
    return capabilities.live


class Talk:
    """A live run in a terminal: what is typed goes in, what is said comes out."""

    def __init__(
        self, conversation: Conversation, loudspeaker: Loudspeaker, *, speaks: bool, at_terminal: bool
    ) -> None:
        self._conversation = conversation
        self._loudspeaker = loudspeaker
        self._transcript = Dialogue(conversation.agent.name)
        self._questions = QuestionPrompt(conversation, at_terminal)
        self._queue = LiveRequestQueue()
        self._config = RunConfig(response_modalities=["AUDIO" if speaks else "TEXT"])
        #: Set once the agent has finished its answer, asks something, or the session is over.
        self._answered = asyncio.Event()
        self._has_questions = self._muted = self._over = False
        self._input_at = self._first_words_after = 0.0

    async def hold(self, speaking: Coroutine[object, object, None]) -> None:
        """Run the session while `speaking` sends the user's input to it."""
        session = seam.spawn(self._session(), name="live session")
        user = seam.spawn(speaking, name="user")
        try:
            await asyncio.wait([session, user], return_when=asyncio.FIRST_COMPLETED)
            if user.done():
                user.result()
                self._queue.close()
            await session
        finally:
            for task in (user, session):
                task.cancel()
            await asyncio.gather(user, session, return_exceptions=True)
            await self._conversation.close()

    async def read(self, prompt: Prompt) -> None:
        """Send the lines of `prompt`, each after the one before it was answered."""
        on_interrupt(prompt.between_turns)
        while not self._over and (line := await prompt.read()) is not None:
            if line.strip():
                await self._say(Content(role="user", parts=[Part(text=line.strip())]), prompt)

    async def listen_to(self, microphone: Microphone) -> None:
        """Send the audio of a file, at the pace of speech."""
        self._begin()
        for piece in microphone.pieces():
            self._queue.send_realtime(piece)
            await asyncio.sleep(_PIECE_SECONDS)
        self._input_at = seam.monotonic()
        self._queue.send_audio_stream_end()
        await self._answered.wait()

    async def _say(self, content: Content | None, prompt: Prompt) -> None:
        while content is not None:
            self._begin()
            self._queue.send_content(content)
            on_interrupt(self._interrupt)
            try:
                await self._answered.wait()
            finally:
                on_interrupt(prompt.between_turns)
            content = await self._questions.ask_new() if self._has_questions else None

    def _begin(self) -> None:
        self._answered.clear()
        self._has_questions = self._muted = False
        self._input_at, self._first_words_after = seam.monotonic(), 0.0

    def _interrupt(self) -> None:
        """Do not show the rest of the answer."""
        self._muted = True
        self._transcript.cut()
        say("(stopped)", dim=True)
        self._answered.set()

    async def _session(self) -> None:
        where = self._conversation
        events = where.runner.run_live(
            user_id=where.user, session_id=where.session, live_request_queue=self._queue, run_config=self._config
        )
        try:
            await show_events(events, self._show)
        finally:
            self._over = True
            self._transcript.cut()
            self._answered.set()

    def _show(self, event: Event) -> None:
        if not self._muted:
            for part in (event.content.parts or ()) if event.content is not None else ():
                if part.inline_data is not None:
                    self._loudspeaker.play(part.inline_data)
            if (words := _in_words(event)) is not None:
                self._first_words_after = self._first_words_after or seam.monotonic() - self._input_at
                self._transcript.show(words)
        if event.long_running_tool_ids:
            self._has_questions = True
            self._answered.set()
        if event.turn_complete:
            self._transcript.cut()
            self._transcript.end()
            if self._first_words_after and sys.stdout.isatty():
                say(f"({self._first_words_after:.1f} s to the first words)", dim=True)
            self._muted = False
            self._answered.set()


def _in_words(event: Event) -> Event | None:
    """The event as a transcript shows it: speech is shown as its words; None: nothing is shown."""
    if (input_text := event.input_transcription) is not None:
        if input_text.finished and input_text.text:
            say(f"(heard: {input_text.text})", dim=True)
        return None
    output_text = event.output_transcription
    if output_text is None:
        return event if event.content is not None or event.error_code or event.usage_metadata is not None else None
    content = Content(role="model", parts=[Part(text=output_text.text or "")])
    return Event(author=event.author, invocation_id=event.invocation_id, content=content, partial=event.partial)
