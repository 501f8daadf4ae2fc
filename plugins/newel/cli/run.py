"""`newel run`: one message, one answer."""

from __future__ import annotations

import sys
from contextlib import nullcontext, redirect_stdout

import click

from newel.cli.answers import answers_to, check_answers
from newel.cli.conversation import Conversation, Options, continues, conversation_options, converse
from newel.cli.debugging import show_traceback
from newel.cli.exit import run_loop
from newel.cli.open_questions import questions_of, waiting_line
from newel.cli.terminal import say, shown
from newel.cli.transcript import Answer, JsonLines, Transcript
from newel.cli.turn import RunFailedError, TrackingTranscript, run_turn
from newel_kernel import ConfigurationError
from newel_types import deferred

#: The exit status of a run that completed and left something waiting.
WAITING = 3
#: It loads with --context.
_cache_watch = deferred("newel.explanation.prefixes", "CacheWatch")
_ANSWER = "Answer an open question of the session: yes, no, text or JSON. May be repeated; replaces MESSAGE."


@click.command("run")
@conversation_options
@click.argument("message", required=False)
@click.option("--answer", "answers", multiple=True, metavar="CALL_ID=ANSWER", help=_ANSWER)
@click.option("--json", "as_json", is_flag=True, help="Print every event as one line of JSON.")
@click.option("--stream", is_flag=True, help="Print the answer as it is written.")
@click.option(
    "--context", is_flag=True, help="Tell on stderr what was sent, read from a cache, paid twice and cleared."
)
@click.pass_context
def run(
    ctx: click.Context,
    agent: str,
    message: str | None,
    answers: tuple[str, ...],
    as_json: bool,
    stream: bool,
    context: bool,
    session: str | None,
    user: str,
    model: str | None,
    sessions: str | None,
    distribution: str | None,
) -> None:
    """Send AGENT one MESSAGE ("-" reads it from stdin) and print its answer.

    Without --session it begins a new session. Status 1: the run failed; 2: it could not start; 3: a question is
    open, and stderr says how to answer it with --answer, in place of MESSAGE.
    """
    texts = check_answers(answers, "the last one" if continues(ctx) else session)
    text = None if texts and message is None else message_text(ctx, message, answered=bool(texts))
    options = Options(session=session, user=user, model=model, sessions=sessions, distribution=distribution)
    conversation = converse(ctx, agent, options)
    if context:
        conversation.watch = _cache_watch()(conversation.runner)
    transcript: Transcript = JsonLines() if as_json else Answer(stream)
    try:
        with redirect_stdout(sys.stderr) if as_json else nullcontext():  # what tools print is not a line of JSON
            status = run_loop(_run(conversation, text if text is not None else texts, transcript, stream))
    except RunFailedError as error:
        show_traceback(error)
        say(f"Error: the run failed: {error}", err=True)
        status = 1
    if sys.stderr.isatty() and session is None:
        say(f"(to continue: --session {shown(conversation.session)})", err=True, dim=True)
    ctx.exit(status)


def message_text(ctx: click.Context, message: str | None, *, answered: bool) -> str:
    """The text of the MESSAGE argument, which may be on stdin; `answered`: it comes with --answer."""
    if message is None:
        raise click.UsageError("Missing argument 'MESSAGE'.", ctx)
    if answered:
        raise ConfigurationError("give either a message or --answer, not both: an answer is a turn of its own")
    raw = sys.stdin.buffer.read() if message == "-" else message.encode("utf-8", "surrogateescape")
    text = raw.decode("utf-8", "replace")
    if not text.strip():
        raise ConfigurationError("the message is empty; write it after the agent, or pass - and pipe it in")
    return text


async def _run(conversation: Conversation, text: str | dict[str, str], transcript: Transcript, stream: bool) -> int:
    """Send a message, or the answers in `text`."""
    tracked = TrackingTranscript(transcript)
    try:
        message = text if isinstance(text, str) else await answers_to(conversation, text)
        status = await run_turn(conversation, message, tracked, stream=stream)
        if conversation.watch is not None:
            say("\n".join(await conversation.context_lines()), err=True, dim=True)
        if await _waiting(conversation, tracked, not isinstance(text, str)):
            return status or WAITING
        if isinstance(transcript, Answer) and transcript.silent:
            say("note: the agent produced no text", err=True)
        return status
    finally:
        await conversation.close()


async def _waiting(conversation: Conversation, tracked: TrackingTranscript, answered: bool) -> bool:
    """Whether something waits. It is printed on stderr: this turn's questions, and those that answers left open."""
    if not (tracked.asking or answered):
        return False
    questions = [q for q in await questions_of(conversation) or () if answered or q.invocation_id in tracked.asking]
    for question in questions:
        say(waiting_line(question, conversation), err=True)
    return bool(questions)
