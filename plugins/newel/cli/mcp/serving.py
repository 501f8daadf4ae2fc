"""`newel mcp serve`: an agent as an MCP server."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import click

from newel.artifacts import InMemoryArtifactService
from newel.cli.conversation import agent_of, open_store, runner_of, store_of
from newel.cli.exit import run_loop
from newel.cli.server_guards import GUARD_OPTIONS, guards_of
from newel.server.options import Options
from newel.server.security.guards import check_address
from newel_kernel import BaseSessionService, ConfigurationError, FeatureUnavailableError
from newel_types import deferred

_agent_server = deferred("newel.mcp_server.agent_server", "AgentServer")
_serve_http = deferred("newel.mcp_server.process", "serve_http")
_MEMORY = "memory:"


@click.command("serve")
@click.argument("agent")
@click.option("--tools", "all_tools", is_flag=True, help="Serve the agent's tools one by one, and not the agent.")
@click.option("--tool", "tools", multiple=True, metavar="NAME", help="Serve this tool of the agent; may be repeated.")
@click.option("--http", is_flag=True, help="Serve over HTTP at /mcp, and not on stdin and stdout.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on, with --http.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="The port, with --http.")
@click.option("--user", default="user", show_default=True, help="The user whose sessions the client's are.")
@click.option("--model", metavar="ADDRESS", help="Another model for the agent, such as demo: or echo:.")
@click.option("--sessions", metavar="URI", help="Where sessions are kept; by default in memory.")
@click.option("--distribution", metavar="NAME|FILE", help="The distribution; by default the current folder's.")
@click.option(
    "--state-key",
    envvar="NEWEL_MCP_STATE_KEY",
    metavar="KEY",
    help="At least 32 characters: another process with the same key and store goes on with what this one asked.",
)
@click.pass_context
def command(
    ctx: click.Context,
    /,
    agent: str,
    all_tools: bool,
    tools: tuple[str, ...],
    http: bool,
    host: str,
    port: int,
    user: str,
    model: str | None,
    sessions: str | None,
    distribution: str | None,
    state_key: str | None,
    **flags: Any,
) -> None:
    """Serve AGENT to an MCP client: as one tool, or its tools one by one.

    A client that starts its servers itself is given this command line. What the agent prints goes to stderr.
    """
    if all_tools and tools:
        raise ConfigurationError("give either --tools or --tool, not both")
    if state_key is not None and len(state_key.encode()) < 32:
        raise ConfigurationError(
            "--state-key needs at least 32 characters: python -c 'import secrets; print(secrets.token_urlsafe(32))' "
            "prints one"
        )
    try:
        served, serve_http = _agent_server(), _serve_http() if http else None
    except ImportError as error:
        raise FeatureUnavailableError(f"`newel mcp` needs {error.name}: pip install 'newel[mcp,server]'") from error
    serves_tools = all_tools or bool(tools)
    composition, source = agent_of(ctx, agent, model, distribution, asks=not serves_tools)
    options = Options(host=host, port=port, guards=guards_of(has_user_of=False, **flags))
    check_address(host, options.is_local, options.guards)
    store = (store_of(source) if sessions is None else None) or open_store(composition, sessions or _MEMORY)
    runner = runner_of(source, composition, store)
    runner.artifact_service = runner.artifact_service or InMemoryArtifactService()
    server = served(runner, tools="all" if all_tools else tools or None, state_key=state_key, user_id=user)
    run_loop(_closing(serve_http(server, options) if serve_http is not None else server.run(), store))


async def _closing(serving: Coroutine[object, object, None], store: BaseSessionService) -> None:
    try:
        await serving
    finally:
        await store.close()


for _decorate in GUARD_OPTIONS:
    command = _decorate(command)
