"""`newel eval_set from-session`: cases from stored sessions."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

import click

from newel.cli.conversation import open_store
from newel.cli.evaluation.sets import subject_of
from newel.cli.exit import run_loop
from newel.cli.startup import composition_of
from newel.evaluation.authoring.recorded_cases import PERSONAL, case_of_session, rule_of
from newel.evaluation.storage.local_eval_sets_manager import LocalEvalSetsManager
from newel_kernel import BaseSessionService, Session


@click.command("from-session")
@click.argument("agent")
@click.argument("eval_set_id")
@click.option("--session", "ids", multiple=True, metavar="GLOB", help="Sessions whose id matches; by default all.")
@click.option("--user", metavar="ID", help="Only sessions of this user.")
@click.option("--app", metavar="NAME", help="The app's name in the store; by default the agent's.")
@click.option("--sessions", metavar="URI", help="Where sessions are kept; by default .newel/sessions.db.")
@click.option(
    "--redact", multiple=True, metavar="PATTERN=TEXT", help="Replace what matches, in addition to the usual rules."
)
@click.option("--keep-personal", is_flag=True, help="Leave mail addresses, phone and card numbers unchanged.")
@click.option("--tag", "tags", multiple=True, help="Tags of the new cases.")
@click.pass_context
def from_session(
    ctx: click.Context,
    agent: str,
    eval_set_id: str,
    ids: tuple[str, ...],
    user: str | None,
    app: str | None,
    sessions: str | None,
    redact: tuple[str, ...],
    keep_personal: bool,
    tags: tuple[str, ...],
) -> None:
    """Add a case for each stored session of AGENT to the set EVAL_SET_ID, which is made if it does not exist.

    Secrets are always masked; mail addresses, phone and card numbers unless --keep-personal.
    """
    rules = [*(() if keep_personal else PERSONAL), *(rule_of(text) for text in redact)]
    composition = composition_of(ctx, None)
    subject = subject_of(agent, composition)
    name = app or (subject.source.app.name if subject.source.app is not None else subject.source.agent.name)
    matches = run_loop(_sessions(open_store(composition, sessions), name, user, ids))
    if not matches:
        raise click.ClickException(f"the app {name!r} has no such session; `--app` and `--user` say whose they are")
    manager = LocalEvalSetsManager(subject.folder.parent)
    folder = subject.folder.name
    if manager.get_eval_set(folder, eval_set_id) is None:
        manager.create_eval_set(folder, eval_set_id)
    for session in matches:
        case = case_of_session(session, rules=rules, tags=tags)
        if manager.get_eval_case(folder, eval_set_id, case.eval_id) is not None:
            click.echo(f"Eval case '{case.eval_id}' already exists in eval set '{eval_set_id}', skipped adding.")
            continue
        manager.add_eval_case(folder, eval_set_id, case)
        click.echo(f"Eval case '{case.eval_id}' added to eval set '{eval_set_id}'.")


async def _sessions(store: BaseSessionService, app: str, user: str | None, ids: Sequence[str]) -> list[Session]:
    try:
        listed = (await store.list_sessions(app_name=app, user_id=user)).sessions
        matches = [one for one in listed if not ids or any(fnmatchcase(one.id, glob) for glob in ids)]
        whole = [
            await store.get_session(app_name=app, user_id=one.user_id, session_id=one.id)
            for one in sorted(matches, key=lambda one: (one.user_id, one.id))
        ]
        return [session for session in whole if session is not None and session.events]
    finally:
        await store.close()
