"""`newel worker`: take the runs of agents from an engine."""

from __future__ import annotations

import click

from newel.cli.exit import run_loop
from newel.cli.startup import composition_of
from newel.cli.worker_process import WorkerOptions, WorkerProcess


@click.command("worker")
@click.argument("agents", nargs=-1, required=True)
@click.option("--engine", metavar="URI", help="The engine; by default the distribution's.")
@click.option("--sessions", metavar="URI", help="Where sessions are kept; by default .newel/sessions.db.")
@click.option("--distribution", metavar="NAME|FILE", help="The distribution; by default the current folder's.")
@click.option("--concurrency", type=click.IntRange(1), default=10, show_default=True, help="The most runs at a time.")
@click.option(
    "--drain",
    type=click.FloatRange(0),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="What runs have to end after a signal, before other workers get them.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="The loopback port of /healthz, /readyz and /metrics; by default a free one.",
)
@click.option("--name", default="", help="What the engine calls it; by default one of the machine and the process.")
@click.pass_context
def worker(
    ctx: click.Context,
    agents: tuple[str, ...],
    engine: str | None,
    sessions: str | None,
    distribution: str | None,
    concurrency: int,
    drain: float,
    port: int,
    name: str,
) -> None:
    """Run what is submitted for AGENTS, until a signal.

    Each of AGENTS is a folder of agents, one agent (a folder, a YAML file, module:attribute), or an installed package
    of agents. It says "ready" once the agents are imported and it takes runs. After SIGTERM or Ctrl-C it takes no more,
    and ends once those under way have ended, or --drain is over: then other workers go on with them. A second signal
    does not wait.
    """
    options = WorkerOptions(engine, sessions, concurrency, drain, port, name)
    process = WorkerProcess(composition_of(ctx, distribution), agents, options)
    ctx.exit(run_loop(process.run()))
