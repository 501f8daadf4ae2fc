"""`newel chat`: a conversation in the terminal."""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import suppress
from importlib import import_module
from typing import Protocol

import click

from newel.cli.asking import Desk
from newel.cli.conversation import Conversation, Options, conversation_options, converse, data_folder
from newel.cli.terminal import one_line, say
from newel.cli.transcript import Dialogue, Transcript
from newel.cli.turn import RunFailedError, Watched, run_turn
from newel_kernel import seam
from newel_kernel import NewelError
from newel_types import Content


class Prompt(Protocol):
    """Where the user's lines come from."""

    async def read(self) -> str | None:
        """The next line, or None where there are no more."""
        ...


class TerminalPrompt:
    """Lines typed in a terminal, with editing and a history that lasts."""

    def __init__(self) -> None:
        history = import_module("prompt_toolkit.history").FileHistory(str(data_folder() / "history"))
        self._session = import_module("prompt_toolkit").PromptSession(history=history)

    async def read(self) -> str | None:
        """Ctrl-C drops the line, Ctrl-D ends the conversation."""
        while True:
            try:
                return str(await self._session.prompt_async("you> "))
            except KeyboardInterrupt:
                continue
            except EOFError:
                return None


class PipedPrompt:
    """Lines of a pipe or a file."""

    async def read(self) -> str | None:
        """The next line; nothing else runs between turns, so waiting for it may block."""
        line = sys.stdin.buffer.readline()
        return line.decode("utf-8", "replace") if line else None


@click.command("chat")
@conversation_options
@click.pass_context
def chat(
    ctx: click.Context, agent: str, session: str | None, user: str, model: str | None, sessions: str | None,
    distribution: str | None,
) -> None:  # fmt: skip
    """Talk to AGENT: each line is a message. Ctrl-C stops an answer, Ctrl-D leaves.

    What the agent asks (approvals, questions, credentials) is put to you; an empty answer leaves it open, and an empty
    line asks again.
    """
    options = Options(session=session, user=user, model=model, sessions=sessions, distribution=distribution)
    conversation = converse(ctx, agent, options)
    at_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if at_terminal:
        say(f"{conversation.agent.name} - Ctrl-C stops an answer, Ctrl-D leaves", dim=True)
    desk = Desk(conversation, at_terminal)
    asyncio.run(_chat(conversation, TerminalPrompt() if at_terminal else PipedPrompt(), desk, session is not None))
    if at_terminal:
        say(f"(to go on: --session {conversation.session})", dim=True)


async def _chat(conversation: Conversation, prompt: Prompt, desk: Desk, taken_up: bool) -> None:
    watched = Watched(Dialogue(conversation.agent.name))
    try:
        message: str | Content | None = await desk.ask_all() if taken_up else None
        while True:
            if message is None:
                if (line := await prompt.read()) is None:
                    return
                message = line if line.strip() else await desk.ask_all()
            if message is not None:
                watched.asking.clear()
                await _interruptible(conversation, message, watched)
                message = await desk.ask_new() if watched.asking else None
    finally:
        await conversation.close()


async def _interruptible(conversation: Conversation, message: str | Content, transcript: Transcript) -> None:
    """One turn, which Ctrl-C cancels and nothing else ends the conversation for."""
    loop = asyncio.get_running_loop()
    turn = seam.spawn(run_turn(conversation, message, transcript, stream=True), name="turn")
    with suppress(NotImplementedError, RuntimeError):  # not on every platform, and in the main thread only
        loop.add_signal_handler(signal.SIGINT, turn.cancel)
    try:
        await turn
    except asyncio.CancelledError:
        if (own := asyncio.current_task()) is not None and own.cancelling():
            raise
        say("(stopped)", dim=True)
    except RunFailedError as error:
        say(f"error: {error}", err=True, fg="red")
    except NewelError as error:
        say(f"error: {one_line(error)}", err=True, fg="red")
    finally:
        with suppress(NotImplementedError, RuntimeError):
            loop.remove_signal_handler(signal.SIGINT)
