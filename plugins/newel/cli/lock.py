"""`newel lock`: the file that holds a composition to its plugins, their files, orders and settings."""

from __future__ import annotations

from pathlib import Path

import click

from newel_compose import LOCK_FILE, compose, lock_changes, lock_of, select_distribution, write_lock


@click.command("lock")
@click.option("--check", is_flag=True, help="Write nothing; print what differs from newel.lock, as a diff.")
@click.option("--distribution", metavar="NAME|FILE", help="The distribution to lock; by default the current folder's.")
@click.pass_context
def lock(ctx: click.Context, check: bool, distribution: str | None) -> None:
    """Write newel.lock: every plugin that takes part, with its version, its files, the orders, and digests of settings.

    A later composition in this folder that differs from it is refused. With --check, status 1 means that it differs.
    """
    # The distribution itself, not its name: an old lock must not stop the new one.
    definition, _ = select_distribution(distribution)
    composition = compose(definition)
    path = Path.cwd() / LOCK_FILE
    if check:
        changes = lock_changes(composition, path)
        for line in changes or [f"{LOCK_FILE} is up to date"]:
            click.echo(line)
        ctx.exit(1 if changes else 0)
    write_lock(composition, path)
    click.echo(f"{LOCK_FILE}: {len(lock_of(composition)['plugins'])} plugins of the distribution {definition.name!r}")
