"""`newel mcp list|inspect|pin|call`: the servers that agents use, as a person sees them."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from newel.cli.exit import run_loop
from newel.cli.mcp.inputs import answered
from newel.cli.startup import composition_of
from newel.cli.terminal import say, short_json, show_json, show_table, to_terminal
from newel.mcp import client
from newel.mcp.definitions import Definition
from newel.mcp.parameters import StdioConnectionParams, StreamableHTTPConnectionParams, described
from newel.mcp.questions import Asked, McpAsksError
from newel.mcp.sessions import MCPSessionManager
from newel.mcp.settings import DEFAULT, Settings
from newel.mcp.texts import cleaned, one_line
from newel.mcp.toolset_config import named
from newel_kernel import ConfigurationError, Json, did_you_mean

if TYPE_CHECKING:
    from newel.mcp.client import Connection

T = TypeVar("T")
#: Seconds for the start of a server that is given on the command line.
_SECONDS = 30.0


def _settings(ctx: click.Context, distribution: str | None) -> Settings:
    own = composition_of(ctx, distribution).settings.get("mcp")
    return own if isinstance(own, Settings) else DEFAULT


def _manager(server: str, settings: Settings) -> MCPSessionManager:
    """The sessions with a server of the settings, at a URL, or of a command line."""
    if server in settings.servers:
        return MCPSessionManager(named(server, settings).arguments(trusted_command=True)["connection_params"])
    if server.startswith(("http://", "https://")):
        return MCPSessionManager(StreamableHTTPConnectionParams(url=server, timeout=_SECONDS))
    command, *args = shlex.split(server) or [""]
    if not command or not (args or "/" in command):
        named(server, settings)  # says which ones there are
    params: Json = {"server_params": {"command": command, "args": args, "cwd": "."}, "timeout": _SECONDS}
    return MCPSessionManager(StdioConnectionParams.model_validate(params))


def _with(
    ctx: click.Context,
    distribution: str | None,
    server: str,
    work: Callable[[Connection], Awaitable[T]],
    token_from: str | None = None,
) -> T:
    """The result of `work` in a session with the server, which ends with it."""
    settings = _settings(ctx, distribution)
    manager = _manager(server, settings)
    headers = _headers(token_from, manager)

    async def run() -> T:
        try:
            async with manager.lease(headers, settings) as connection:
                return await work(connection)
        finally:
            await manager.close()

    return run_loop(run())


def _headers(token_from: str | None, manager: MCPSessionManager) -> dict[str, str]:
    if token_from is None:
        return {}
    if isinstance(manager.params, StdioConnectionParams):
        raise ConfigurationError("--token-from is for a server at a URL; one in a process gets its secrets in `env`")
    if not (token := os.environ.get(token_from)):
        raise ConfigurationError(f"--token-from: the environment has no variable {token_from!r}, or it is empty")
    return {"Authorization": f"Bearer {token}"}


_token = click.option("--token-from", metavar="VARIABLE", help="The environment variable with the server's token.")
_where = click.option("--distribution", metavar="NAME|FILE", help="The distribution; by default the current folder's.")
_server = click.argument("server", metavar="SERVER")


@click.command("list")
@_where
@click.pass_context
def list_servers(ctx: click.Context, distribution: str | None) -> None:
    """List the servers that the settings name: a table on a terminal, else JSON."""
    settings = _settings(ctx, distribution)
    rows = []
    for name in sorted(settings.servers):
        arguments = named(name, settings).arguments(trusted_command=True)
        rows.append([name, described(arguments["connection_params"]), str(len(arguments["pins"] or ()) or "")])
    if not to_terminal():
        show_json([{"name": name, "server": server, "pins": int(pins or 0)} for name, server, pins in rows])
    elif rows:
        show_table("MCP servers", ("name", "server", "pins"), rows)
    else:
        say("The settings name no MCP server: settings: mcp.servers")


@click.command("inspect")
@_server
@_where
@_token
@click.pass_context
def inspect(ctx: click.Context, server: str, distribution: str | None, token_from: str | None) -> None:
    """Show what SERVER offers: a name of the settings, a URL, or a command line in quotes.

    Its words are shown without invisible characters: read them before you let an agent use the server.
    """

    async def work(connection: Connection) -> Json:
        session = await connection.session()
        capabilities = session.server_capabilities
        found: Json = {
            "server": connection.server,
            "protocol": session.protocol_version,
            "instructions": cleaned(await client.instructions(connection)),
            "tools": [_shown(one) for one in (await connection.tools()).definitions],
        }
        if capabilities is not None and capabilities.resources is not None:
            found["resources"] = [one_line(str(one["name"])) for one in await client.resources(connection)]
        if capabilities is not None and capabilities.prompts is not None:
            found["prompts"] = [one_line(str(one["name"])) for one in await client.prompts(connection)]
        return found

    found = _with(ctx, distribution, server, work, token_from)
    if not to_terminal():
        show_json(found)
        return
    rows = [
        [one["name"], short_json(one["description"], 60), one["effect"], one["digest"][:12]] for one in found["tools"]
    ]
    show_table(f"{found['server']} ({found['protocol']})", ("tool", "description", "hinted effect", "digest"), rows)
    for kind in ("instructions", "resources", "prompts"):
        if found.get(kind):
            say(f"{kind}: {found[kind] if isinstance(found[kind], str) else ', '.join(found[kind])}")


@click.command("pin")
@_server
@_where
@_token
@click.pass_context
def pin(ctx: click.Context, server: str, distribution: str | None, token_from: str | None) -> None:
    """Print the pins of SERVER's tools, to be put at mcp.servers.NAME.pins; `newel lock` then holds them.

    An agent uses no tool whose definition is not the one that was pinned.
    """

    async def work(connection: Connection) -> dict[str, str]:
        return {one.name: one.digest for one in (await connection.tools()).definitions}

    show_json({"pins": _with(ctx, distribution, server, work, token_from)})


@click.command("call")
@_server
@click.argument("tool")
@click.argument("arguments", default="{}", metavar="[JSON]")
@_where
@_token
@click.pass_context
def call(
    ctx: click.Context, server: str, tool: str, arguments: str, distribution: str | None, token_from: str | None
) -> None:
    """Call TOOL of SERVER with the arguments, a JSON object; print the server's result.

    What the server asks meanwhile is asked at the terminal.
    """
    try:
        given: Any = json.loads(arguments)
    except ValueError as error:
        raise ConfigurationError(f"the arguments are not JSON: {error}") from None
    if not isinstance(given, dict):
        raise ConfigurationError('the arguments must be a JSON object, such as \'{"text": "tea"}\'')

    async def work(connection: Connection) -> Json:
        names = [one.name for one in (await connection.tools()).definitions]
        if tool not in names:
            hint = did_you_mean(tool, names) or f" (there are: {', '.join(map(one_line, names)) or 'none'})"
            raise ConfigurationError(f"the MCP server {connection.server} has no tool {tool!r}{hint}")
        asked: Asked | None = None
        while True:
            try:
                return client.plain(await connection.call(tool, given, asked=asked))
            except McpAsksError as error:
                asked = await asyncio.to_thread(answered, error, connection.server)

    result = _with(ctx, distribution, server, work, token_from)
    show_json(result)
    if result.get("isError"):
        ctx.exit(1)


def _shown(definition: Definition) -> Json:
    return {
        "name": one_line(definition.name),
        "description": cleaned(definition.description),
        "parameters": definition.input_schema,
        "effect": definition.hinted_effect.value,
        "digest": definition.digest,
    }
