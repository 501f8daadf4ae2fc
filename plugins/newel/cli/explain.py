"""`newel explain`: how a message becomes a model request, step by step. No model is asked, and nothing is stored."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import nullcontext, redirect_stdout

import click

from newel.cli.agent_sessions import AgentSessions, in_store
from newel.cli.conversation import Options, agent_of, continues, conversation_options, no_session, runner_of
from newel.cli.debugging import show_traceback
from newel.cli.exit import run_loop
from newel.cli.run import message_text
from newel.cli.terminal import say, show_json
from newel.explanation import Change, Explanation, Rehearsal, Step, copied, rehearse
from newel.files.agent_source import AgentSource
from newel_compose import Composition, describe_error
from newel_kernel import ConfigurationError, FeatureUnavailableError, NewelError, Session, seam

_MARKS = {"add": "+", "remove": "-", "replace": "~"}
_COLORS = {"+": "green", "-": "red", "~": "yellow"}
#: The most characters of one line of a value, unless --full asks for all.
_WIDTH = 160


@click.command("explain")
@conversation_options
@click.argument("message")
@click.option("--json", "as_json", is_flag=True, help="Print the explanation as JSON.")
@click.option("--full", is_flag=True, help="Do not shorten long values.")
@click.pass_context
def explain(
    ctx: click.Context,
    agent: str,
    message: str,
    as_json: bool,
    full: bool,
    session: str | None,
    user: str,
    model: str | None,
    sessions: str | None,
    distribution: str | None,
) -> None:
    """Show what each step makes of AGENT's model request for MESSAGE ("-" reads it from stdin).

    Each step has its plugin, its package and version, its time, and the edits that it made. The turn ends before the
    first model call: no model is asked, and nothing is stored. With --session or --continue, the request is that of
    the session's next turn, on a copy of it. Callbacks before the model call do run, and toolsets list their tools.

    Status 1: the turn failed or ended before it came to a model.
    """
    text = message_text(ctx, message, answered=False)
    options = Options(session=session, user=user, model=model, sessions=sessions, distribution=distribution)
    composition, source = agent_of(ctx, agent, model, distribution, asks=False)
    stored = _stored(composition, source, options, continues(ctx))
    with redirect_stdout(sys.stderr) if as_json else nullcontext():  # what callbacks print is not a line of JSON
        rehearsal = run_loop(_rehearsed(composition, source, stored, user, text))
    if as_json:
        show_json([one.as_json() for one in rehearsal.explanations])
    else:
        for one in rehearsal.explanations:
            _show(one, full)
    ctx.exit(_status(rehearsal))


def _stored(composition: Composition, source: AgentSource, options: Options, latest: bool) -> Session | None:
    """The session that the options name, as it is stored; None: a new one."""
    id_ = options.session
    if latest and id_ is not None:
        raise ConfigurationError("give either --session or --continue, not both")
    if not latest and id_ is None:
        return None

    async def read(stored: AgentSessions) -> Session:
        if id_ is not None:
            return await stored.whole(id_)
        if not (listed := await stored.listed()):
            raise no_session(options.user, source)
        return await stored.events_of(listed[0])

    return in_store(composition, source, options.user, options.sessions, read)


async def _rehearsed(
    composition: Composition, source: AgentSource, stored: Session | None, user: str, text: str
) -> Rehearsal:
    id_ = stored.id if stored is not None else seam.new_id()
    runner = runner_of(source, composition, await copied(stored, source.name, user, id_))
    try:
        return await rehearse(runner, user, id_, text)
    finally:
        await runner.close()


def _status(rehearsal: Rehearsal) -> int:
    error = rehearsal.error
    if isinstance(error, (ConfigurationError, FeatureUnavailableError)):
        raise error
    if error is not None:
        show_traceback(error)
        say(f"Error: the turn failed: {error if isinstance(error, NewelError) else describe_error(error)}", err=True)
        return 1
    if not any(one.called for one in rehearsal.explanations):
        say("note: the turn ended before a model was asked: a callback or a processor ended it", err=True)
        return 1
    return 0


def _show(one: Explanation, full: bool) -> None:
    milliseconds = f"{one.seconds * 1000:.2f} ms"
    say(f"the request of {one.agent}, {len(one.steps)} steps, {milliseconds}", bold=True)
    for number, step in enumerate(one.steps, 1):
        _show_step(number, step, full)
    say("this goes to the model:" if one.called else "it did not come to a model call; the request so far:", bold=True)
    for line in json.dumps(one.after, indent=2, ensure_ascii=False).splitlines():
        say(f"  {line if full else _short(line)}")


def _show_step(number: int, step: Step, full: bool) -> None:
    owner = f"{step.package} {step.version}".strip() or "the agent"
    plugin = f"{step.plugin}, " if step.plugin not in ("", step.name) else ""
    what = {"tools": "tools of ", "callback": "before_model_callback of "}.get(step.kind, "")
    outcome = f" raised {step.error}" if step.error else " answered in place of the model" if step.answered else ""
    events = f", {step.events} events" if step.events else ""
    line = f"{number:3} {what}{step.name}  ({plugin}{owner})  {step.seconds * 1000:.2f} ms{events}{outcome}"
    say(line, dim=not (step.changes or step.error or step.answered or step.events))
    for change in step.changes:
        for mark, text in _lines(change):
            say(f"      {mark} {text if full else _short(text)}", fg=_COLORS.get(mark))


def _lines(change: Change) -> Iterator[tuple[str, str]]:
    """A change as lines of a diff; of a text that only grew, only what was added."""
    before, after = change.before, change.after
    if change.op == "replace" and isinstance(before, str) and isinstance(after, str):
        yield "~", change.path
        if after.startswith(before):
            yield from (("+", line) for line in after[len(before) :].splitlines() if line)
            return
        yield from (("-", line) for line in before.splitlines())
        yield from (("+", line) for line in after.splitlines())
    elif change.op == "replace":
        yield "~", f"{change.path}: {_json(before)} -> {_json(after)}"
    else:
        yield _MARKS[change.op], f"{change.path}: {_json(before if change.op == 'remove' else after)}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _short(text: str) -> str:
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}… ({len(text) - _WIDTH} more characters)"
