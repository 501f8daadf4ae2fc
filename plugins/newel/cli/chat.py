"""`newel chat`: a conversation in the terminal."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any, Protocol

import click

from newel.cli.chat_commands import is_command, run_command
from newel.cli.conversation import Conversation, Options, continues, conversation_options, converse, data_folder
from newel.cli.debugging import show_traceback
from newel.cli.exit import run_loop
from newel.cli.question_prompt import QuestionPrompt
from newel.cli.stored_session import last_exchanges, show_events
from newel.cli.terminal import ctrl_d_kept, say, shown
from newel.cli.transcript import Dialogue
from newel.cli.turn import RunFailedError, TrackingTranscript, run_turn, steer
from newel.cli.typed_ahead import typed_ahead
from newel.events.text import one_line
from newel_kernel import NewelError, cancellations, seam
from newel_types import Content

Interrupt = Callable[[], object]
#: How many past exchanges of a continued session are shown.
_RECALL_EXCHANGES = 3


class Prompt(Protocol):
    """The source of the user's lines."""

    #: What Ctrl-C does while no turn runs; None: it ends the program.
    between_turns: Interrupt | None

    async def read(self) -> str | None:
        """The next line, or None if there are no more."""
        ...


class TerminalPrompt:
    """Messages typed in a terminal, with editing and a history that lasts; Enter sends, Alt-Enter begins a line.

    While it reads, Ctrl-C and Ctrl-Z are keys. Before and after, Ctrl-C is a signal, and no turn runs that it could
    stop.
    """

    def __init__(self) -> None:
        history = import_module("prompt_toolkit.history").FileHistory(str(data_folder() / "history"))
        self._session = import_module("prompt_toolkit").PromptSession(
            history=history, multiline=True, key_bindings=_keys(), prompt_continuation="...> ", enable_suspend=True
        )
        self.between_turns: Interrupt | None = lambda: None

    async def read(self) -> str | None:
        """Ctrl-C drops the line, Ctrl-D ends the conversation."""
        while True:
            try:
                return str(await self._session.prompt_async("you> ", handle_sigint=False))
            except KeyboardInterrupt:
                continue
            except EOFError:
                return None


def _keys() -> Any:
    """Enter sends, Alt-Enter (which terminals send as Escape and Enter) begins a line."""
    keys = import_module("prompt_toolkit.key_binding").KeyBindings()
    keys.add("enter")(lambda event: event.current_buffer.validate_and_handle())
    keys.add("escape", "enter")(lambda event: event.current_buffer.insert_text("\n"))
    return keys


class PipedPrompt:
    """Lines of a pipe or a file."""

    between_turns: Interrupt | None = None

    async def read(self) -> str | None:
        """The next line; nothing else runs between turns, so waiting for it may block."""
        line = sys.stdin.buffer.readline()
        return line.decode("utf-8", "replace") if line else None


@click.command("chat")
@conversation_options
@click.pass_context
def chat(
    ctx: click.Context,
    agent: str,
    session: str | None,
    user: str,
    model: str | None,
    sessions: str | None,
    distribution: str | None,
) -> None:
    """Talk to AGENT: each line is a message. Ctrl-C stops an answer, Ctrl-D leaves, /help lists the chat's commands.

    A line typed at a terminal while the agent is at work is told to it before its next step. You are asked for
    approvals, inputs and credentials; an empty answer leaves a question open, and an empty line asks again.
    """
    options = Options(session=session, user=user, model=model, sessions=sessions, distribution=distribution)
    conversation = converse(ctx, agent, options)
    at_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    questions = QuestionPrompt(conversation, at_terminal)
    is_continued = session is not None or continues(ctx)
    if not at_terminal:
        run_loop(_chat(conversation, PipedPrompt(), questions, is_continued))
        return
    head = f"{conversation.agent.name} - session {conversation.session}"
    say(
        f"{head}\nCtrl-C stops an answer, a line that you type meanwhile steers it, Ctrl-D leaves, /help for more",
        dim=True,
    )
    with ctrl_d_kept():
        run_loop(_chat(conversation, TerminalPrompt(), questions, is_continued))
    say(f"(to continue: --session {shown(conversation.session)})", dim=True)


async def _chat(conversation: Conversation, prompt: Prompt, questions: QuestionPrompt, is_continued: bool) -> None:
    tracked = TrackingTranscript(Dialogue(conversation.agent.name))
    on_interrupt(prompt.between_turns)
    try:
        if is_continued and isinstance(prompt, TerminalPrompt):
            await _recall(conversation)
        message: str | Content | None = await questions.ask_all() if is_continued else None
        while True:
            if message is None:
                if (line := await prompt.read()) is None:
                    return
                if is_command(line):
                    if await _obey(conversation, line):
                        return
                    continue
                message = line if line.strip() else await questions.ask_all()
            if message is not None:
                tracked.begin()
                await _interruptible(conversation, message, tracked, prompt)
                if conversation.watch is not None:
                    for told in await conversation.context_lines():
                        say(f"  {told}", dim=True)
                message = await questions.ask_new() if tracked.asking else None
    finally:
        await conversation.close()


async def _obey(conversation: Conversation, line: str) -> bool:
    """Run a chat command; return whether it ends the chat."""
    try:
        return await run_command(conversation, line)
    except NewelError as error:
        show_traceback(error)
        say(f"error: {one_line(error)}", err=True, fg="red")
        return False


async def _recall(conversation: Conversation) -> None:
    """Show the last exchanges of a continued session."""
    session = await conversation.stored()
    if session is not None and session.events:
        recent = last_exchanges(session.events, _RECALL_EXCHANGES)
        left_out = len(session.events) - len(recent)
        if left_out:
            say(f"({left_out} earlier events; `newel sessions show` has them)", dim=True)
        show_events(recent, conversation.agent.name)


async def _turn(
    conversation: Conversation, message: str | Content, transcript: TrackingTranscript, prompt: Prompt
) -> None:
    """Run one turn; what is typed at a terminal meanwhile steers it."""
    if not isinstance(prompt, TerminalPrompt):
        await run_turn(conversation, message, transcript, stream=True)
        return
    said: list[asyncio.Task[None]] = []

    def take(line: str) -> None:
        say("(told before its next step)", dim=True)
        said.append(seam.spawn(steer(conversation, line, transcript), name="steering"))

    try:
        with typed_ahead(take):
            await run_turn(conversation, message, transcript, stream=True)
            while said:
                await said.pop(0)
    finally:
        for one in said:
            one.cancel()
        await asyncio.gather(*said, return_exceptions=True)
        transcript.cut()


async def _interruptible(
    conversation: Conversation, message: str | Content, transcript: TrackingTranscript, prompt: Prompt
) -> None:
    """Run one turn, which Ctrl-C cancels; an error in it does not end the conversation."""
    waiting = seam.spawn(transcript.waits.show(), name="waits")
    turn = seam.spawn(_turn(conversation, message, transcript, prompt), name="turn")
    on_interrupt(turn.cancel)
    try:
        await turn
    except asyncio.CancelledError:
        if cancellations():
            raise
        say("(stopped)", dim=True)
    except RunFailedError as error:
        show_traceback(error)
        say(f"error: {error}", err=True, fg="red")
    except NewelError as error:
        show_traceback(error)
        say(f"error: {one_line(error)}", err=True, fg="red")
    finally:
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        on_interrupt(prompt.between_turns)


def on_interrupt(action: Interrupt | None) -> None:
    """Set what Ctrl-C does from now on; None: it ends the program.

    A second Ctrl-C, before the loop has run `action`, interrupts whatever blocks the loop (such as a tool).
    """
    loop, pending = asyncio.get_running_loop(), False

    def act() -> None:
        nonlocal pending
        pending = False
        assert action is not None
        action()

    def interrupted(*_: object) -> None:
        nonlocal pending
        if pending:
            pending = False
            raise KeyboardInterrupt
        pending = True
        loop.call_soon_threadsafe(act)

    with suppress(ValueError):  # in the main thread only
        signal.signal(signal.SIGINT, signal.default_int_handler if action is None else interrupted)
