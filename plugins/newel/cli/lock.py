"""`newel lock`: the file that holds a composition to its plugins, orders and settings."""

from __future__ import annotations

from pathlib import Path

import click

from newel_compose import LOCK_FILE, compose, lock_of, select_distribution, write_lock


@click.command("lock")
@click.option("--distribution", metavar="NAME|FILE", help="The distribution to lock; by default the current folder's.")
def lock(distribution: str | None) -> None:
    """Write newel.lock: every plugin that takes part, with its version, the orders, and digests of the settings.

    A later composition in this folder that differs from it is refused.
    """
    # The distribution itself, not its name: an old lock must not stop the new one.
    definition, _ = select_distribution(distribution)
    composition = compose(definition)
    path = Path.cwd() / LOCK_FILE
    write_lock(composition, path)
    click.echo(f"{LOCK_FILE}: {len(lock_of(composition)['plugins'])} plugins of the distribution {definition.name!r}")
