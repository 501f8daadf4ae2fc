"""`mortise run`: one message, one answer."""

from __future__ import annotations

import asyncio
import sys

import click

from mortise.cli.conversation import Conversation, Options, conversation_options, converse
from mortise.cli.terminal import say
from mortise.cli.transcript import Answer, JsonLines, Transcript
from mortise.cli.turn import RunFailedError, run_turn
from mortise_kernel.errors import ConfigurationError


@click.command("run")
@conversation_options
@click.argument("message")
@click.option("--json", "as_json", is_flag=True, help="Print every event as one line of JSON.")
@click.option("--stream", is_flag=True, help="Print the answer as it is written.")
@click.pass_context
def run(
    ctx: click.Context, agent: str, message: str, as_json: bool, stream: bool, session: str | None, user: str,
    model: str | None, sessions: str | None, distribution: str | None,
) -> None:  # fmt: skip
    """Send AGENT one MESSAGE ("-" reads it from stdin) and print its answer.

    Without --session it is a session of its own. Status 1: the run failed; 2: it could not start.
    """
    raw = sys.stdin.buffer.read() if message == "-" else message.encode("utf-8", "surrogateescape")
    text = raw.decode("utf-8", "replace")
    if not text.strip():
        raise ConfigurationError("the message is empty; write it after the agent, or pass - and pipe it in")
    options = Options(session=session, user=user, model=model, sessions=sessions, distribution=distribution)
    conversation = converse(ctx, agent, options)
    transcript: Transcript = JsonLines() if as_json else Answer(stream)
    try:
        status = asyncio.run(_run(conversation, text, transcript, stream))
    except RunFailedError as error:
        say(f"Error: the run failed: {error}", err=True)
        status = 1
    if sys.stderr.isatty() and session is None:
        say(f"(to go on: --session {conversation.session})", err=True, dim=True)
    ctx.exit(status)


async def _run(conversation: Conversation, text: str, transcript: Transcript, stream: bool) -> int:
    try:
        return await run_turn(conversation, text, transcript, stream=stream)
    finally:
        await conversation.close()
