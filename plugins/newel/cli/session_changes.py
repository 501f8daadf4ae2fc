"""`newel sessions fork`, `rewind` and `compact`: a stored session copied, taken back, or summarised."""

from __future__ import annotations

import click

from newel.cli.agent_sessions import AgentSessions, session_options, with_sessions
from newel.cli.conversation import override_model
from newel.cli.stored_artifacts import own_artifacts
from newel.cli.terminal import say, shown
from newel.events.text import text_of
from newel.sessions.forking import fork_session
from newel.sessions.forks import around
from newel_kernel import ConfigurationError, Event, Log, Session


@click.command("fork")
@session_options
@click.argument("session_id")
@click.option("--as", "new_id", metavar="ID", help="The id of the new session; by default a random one.")
@click.option("--events", type=click.IntRange(0), metavar="N", help="Only the first N events; by default all.")
@click.pass_context
def fork(
    ctx: click.Context,
    agent: str,
    session_id: str,
    user: str | None,
    sessions: str | None,
    new_id: str | None,
    events: int | None,
) -> None:
    """Copy a session of AGENT into a new one, with the state that it had then and the artifacts that it refers to.

    The old one does not change, and each can be deleted without the other.
    """
    if new_id is not None and (not new_id or new_id != new_id.strip()):
        raise ConfigurationError(f"--as {new_id!r} is empty or has spaces around it; change it or leave it out")

    async def work(stored: AgentSessions) -> Session:
        session = await stored.named(session_id)
        if events is not None and (nearest := around((await stored.events_of(session)).events, events)) is not None:
            raise ConfigurationError(
                f"the first {events} events of {session.id} end between a call and its result: "
                f"give --events {nearest[0]} or {nearest[1]}"
            )
        async with own_artifacts(stored) as artifacts:
            return await fork_session(
                stored.store,
                artifacts,
                app_name=stored.app,
                user_id=session.user_id,
                session_id=session.id,
                new_session_id=new_id,
                events=events,
            )

    new = with_sessions(ctx, agent, user, sessions, work)
    say(f"forked into {shown(new.id)} of {shown(new.user_id)}, with {len(new.events)} events")


@click.command("rewind")
@session_options
@click.argument("session_id")
@click.option(
    "--turns", type=click.IntRange(1), metavar="N", help="How many of the last turns to rewind; by default 1."
)
@click.option("--before", metavar="ID", help="Rewind to before this invocation; its id may be abbreviated.")
@click.pass_context
def rewind(
    ctx: click.Context,
    agent: str,
    session_id: str,
    user: str | None,
    sessions: str | None,
    turns: int | None,
    before: str | None,
) -> None:
    """Rewind a session of AGENT: undo what its last turns said, wrote and saved. The events stay in the log."""
    if turns is not None and before is not None:
        raise ConfigurationError("give either --turns or --before, not both")

    async def work(stored: AgentSessions) -> tuple[str, int]:
        session = await stored.whole(session_id)
        begun = _turns(session)
        target = _turn(session, begun, before) if before is not None else _last_turn(session, begun, turns or 1)
        await stored.runner().rewind_async(
            user_id=session.user_id, session_id=session.id, rewind_before_invocation_id=target
        )
        return text_of(begun[target].content), len(begun) - list(begun).index(target)

    text, count = with_sessions(ctx, agent, user, sessions, work)
    say(f"rewound {count} turn{'s' if count > 1 else ''}, to before: {' '.join(text.split())}")


def _turns(session: Session) -> dict[str, Event]:
    """The invocations that a user's message began and that still count, each with that message."""
    begun: dict[str, Event] = {}
    for event in Log(session.events).standing():
        if event.author == "user" and event.content is not None and event.invocation_id:
            begun.setdefault(event.invocation_id, event)
    return begun


def _last_turn(session: Session, begun: dict[str, Event], turns: int) -> str:
    if turns > len(begun):
        raise ConfigurationError(f"the session {session.id} has {len(begun)} turns that count: take back at most those")
    return list(begun)[-turns]


def _turn(session: Session, begun: dict[str, Event], before: str) -> str:
    matches = [before] if before in begun else [id_ for id_ in begun if before and id_.startswith(before)]
    if len(matches) != 1:
        several = f"{len(matches)} invocations begin with" if matches else "no invocation that counts begins with"
        raise ConfigurationError(
            f"the session {session.id}: {several} {before!r}; `newel sessions show` gives them as invocationId, in JSON"
        )
    return matches[0]


@click.command("compact")
@session_options
@click.argument("session_id")
@click.option(
    "--keep", type=click.IntRange(0), default=10, show_default=True, metavar="N", help="Keep the last N events."
)
@click.option("--model", metavar="ADDRESS", help="Another model for the root agent, which writes the summary.")
@click.pass_context
def compact(
    ctx: click.Context,
    agent: str,
    session_id: str,
    user: str | None,
    sessions: str | None,
    keep: int,
    model: str | None,
) -> None:
    """Summarise the older part of a session of AGENT: its model sees the summary instead. The events stay."""

    async def work(stored: AgentSessions) -> Event | None:
        if model is not None:
            override_model(stored.source.agent, model)
        session = await stored.named(session_id)
        return await stored.runner().compact_async(user_id=session.user_id, session_id=session.id, keep=keep)

    event = with_sessions(ctx, agent, user, sessions, work)
    if event is None or event.actions.compaction is None:
        say(f"nothing to compact: no finished exchange is older than the last {keep} events")
    else:
        say(f"compacted into: {text_of(event.actions.compaction.compacted_content)}")
