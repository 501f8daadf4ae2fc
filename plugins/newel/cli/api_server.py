"""`newel api_server` and `newel web`: agents over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import click

from newel.cli.conversation import sessions_here, store_uri
from newel.cli.exit import run_loop
from newel.cli.server_guards import GUARD_OPTIONS, guards_of
from newel.cli.startup import composition_of
from newel.server.operations.prefix import checked_prefix
from newel.server.options import Options
from newel.server.security.guards import check_address, check_builder
from newel.server.settings import Settings
from newel_compose import Composition
from newel_kernel import ConfigurationError, FeatureUnavailableError, SessionError
from newel_types import deferred

Function = Callable[..., Any]
_DEFAULT = Options()
_serve = deferred("newel.server.process", "serve")
_stored_at = deferred("newel.server.stored", "stored_at")
_export_page = deferred("newel.cli.web_export", "export_page")
_owners_at = deferred("newel.server.stored", "owners_at")


def server_options(command: Function) -> Function:
    """Declare the argument and the options of a server."""
    for decorate in (
        *GUARD_OPTIONS,
        click.option("--access-log", is_flag=True, help="Write a line of JSON to stderr for each request."),
        click.option(
            "--max-runs",
            type=click.IntRange(1),
            default=_DEFAULT.max_runs,
            show_default=True,
            help="The most runs at a time, however they began.",
        ),
        click.option(
            "--drain",
            type=click.FloatRange(0),
            default=_DEFAULT.drain,
            show_default=True,
            metavar="SECONDS",
            help="What runs have to end after a signal, before they are cancelled.",
        ),
        click.option(
            "--on-disconnect",
            type=click.Choice(["cancel", "detach"]),
            help="What becomes of a run whose client has left; by default as `server.on_disconnect` says: cancel.",
        ),
        click.option("--reload", is_flag=True, help="Start again when a file of the agents changes."),
        click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Processes that serve."),
        click.option("--distribution", metavar="NAME|FILE", help="The distribution; by default the current folder's."),
        click.option("--sessions", "--session_service_uri", "sessions", metavar="URI", help="Where sessions are kept."),
        click.option(
            "--artifacts", "--artifact_service_uri", "artifacts", metavar="URI", help="Where artifacts are kept."
        ),
        click.option(
            "--url-prefix",
            "--url_prefix",
            default="",
            metavar="/PATH",
            help="The path below which a proxy shows the server, whether or not the proxy takes it off.",
        ),
        click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="The port."),
        click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on."),
        click.argument("agents_dir", default="."),
    ):
        command = decorate(command)
    return command


@click.command("api_server")
@server_options
@click.pass_context
def api_server(ctx: click.Context, /, agents_dir: str, **options: Any) -> None:
    """Serve the agents in AGENTS_DIR over HTTP, under google-adk's paths.

    AGENTS_DIR is a folder of agents, one agent (a folder, a YAML file, module:attribute), or an installed package of
    agents.
    """
    _start(ctx, agents_dir, development=False, **options)


@click.command("web")
@click.option(
    "--export",
    nargs=2,
    type=(str, click.Path(dir_okay=False, path_type=Path)),
    metavar="SESSION FILE",
    help="Write one page that shows SESSION (its id, or app/user/id) and opens from disk; do not serve.",
)
@click.option("--builder", is_flag=True, help="Let callers write agent files; not with --no-token.")
@server_options
@click.pass_context
def web(ctx: click.Context, /, agents_dir: str, export: tuple[str, Path] | None, **options: Any) -> None:
    """Serve the agents in AGENTS_DIR with the development endpoints and a web UI.

    In place of agents, AGENTS_DIR may name stored sessions: an SQLite file, the URI of a session store, or a session
    that was exported as JSON. They are shown without the agents' code, and nothing is written.
    """
    if export is not None:
        _write_page(ctx, agents_dir, *export, **options)
        return
    _start(ctx, agents_dir, development=True, **options)


def _write_page(
    ctx: click.Context,
    reference: str,
    session: str,
    file: Path,
    *,
    sessions: str | None,
    artifacts: str | None,
    distribution: str | None,
    **_: Any,
) -> None:
    """Write the page of a stored session: of AGENTS_DIR, if that names sessions, else of --sessions."""
    composition = composition_of(ctx, distribution)
    try:
        stored = _stored(reference, composition, sessions) or _stored(sessions_here(composition, sessions), composition)
        _export_page()(stored, session, file, composition, artifacts)
    except ImportError as error:
        raise FeatureUnavailableError(f"a page needs {error.name}: pip install 'newel[server]'") from error


def _start(
    ctx: click.Context,
    agents_dir: str,
    *,
    development: bool,
    host: str,
    port: int,
    url_prefix: str,
    sessions: str | None,
    artifacts: str | None,
    distribution: str | None,
    workers: int,
    reload: bool,
    drain: float,
    max_runs: int,
    access_log: bool,
    on_disconnect: Literal["cancel", "detach"] | None,
    builder: bool = False,
    **flags: Any,
) -> None:
    try:
        serve = _serve()
    except ImportError as error:
        raise FeatureUnavailableError(f"a server needs {error.name}: pip install 'newel[server]'") from error
    composition = composition_of(ctx, distribution)
    stored = _stored(agents_dir, composition, sessions) if development else None
    uri = store_uri(composition, sessions) if stored is None else None
    has_user_of = bool(composition.settings_of("server", Settings).user_of)
    guards = guards_of(has_user_of=has_user_of, **flags)
    options = Options(
        host=host,
        port=port,
        url_prefix=checked_prefix(url_prefix),
        development=development,
        drain=drain,
        max_runs=max_runs,
        access_log=access_log,
        on_disconnect=on_disconnect,
        builder=builder,
        guards=guards,
    )
    check_address(host, options.is_local, guards, has_user_of=has_user_of)
    check_builder(builder, guards, has_user_of=has_user_of)
    serve(
        agents_dir,
        options,
        sessions=uri,
        artifacts=artifacts,
        stored=stored,
        distribution=distribution,
        workers=workers,
        reload=reload,
    )


def _stored(reference: str, composition: Composition, sessions: str | None = None) -> str | None:
    """The address of the stored sessions that `reference` names, which can be read; None: it names agents."""
    stored: str | None = _stored_at()(reference, composition)
    if stored is None:
        return None
    if sessions is not None:
        raise ConfigurationError(f"give either {reference!r} or --sessions, not both: each says where sessions are")
    try:
        run_loop(_owners_at()(stored, composition))
    except SessionError as error:
        raise ConfigurationError(str(error)) from error
    return stored
