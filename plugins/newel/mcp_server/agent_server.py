"""AgentServer: an agent that MCP clients call."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
)

from newel.agents import LlmAgent
from newel.artifacts import InMemoryArtifactService
from newel.claims import SessionBusyError
from newel.mcp_server.caller import Caller, InputRequired, UnfitAnswerError
from newel.mcp_server.conversations import RunFailedError, failure
from newel.mcp_server.offers import AgentOffer, Offer, ToolOffer
from newel.mcp_server.results import failed
from newel.mcp_server.single_calls import HiddenErrors, caller_of
from newel.runners import Runner
from newel.runs import RunRefusedError
from newel.version import VERSION
from newel_kernel import BaseAgent, ConfigurationError, did_you_mean

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp

_USER = "user"
#: For how long clients need not list the tools again.
_FRESH_MS = 60_000
_KEY_BYTES = 32
#: Hosts that name this machine to itself, at any port.
_LOOPBACK = ("127.0.0.1:*", "localhost:*", "[::1]:*")


class AgentServer:
    """Serves the agent of a runner: itself as one tool, or `tools`, the names of its tools ("all": each of them).

    Conversations, approvals and inputs are those of a run; the client's user is asked by elicitation. `state_key`
    (at least 32 characters) lets another process go on with what this one asked. The sessions belong to the user that
    `user_of` names for a request, else to `user_id`.
    """

    def __init__(
        self,
        runner: Runner,
        *,
        name: str | None = None,
        instructions: str | None = None,
        tools: Sequence[str] | str | None = None,
        state_key: str | None = None,
        user_id: str = _USER,
        user_of: Callable[[Request], str | None] | None = None,
    ) -> None:
        self.runner = runner
        self._user_id = user_id
        self._user_of = user_of
        self._tools = tools
        self._offers: Mapping[str, Offer] | None = None
        self._making = asyncio.Lock()
        if tools is not None:
            self.runner = _over(runner, caller_of(runner.agent))
        name = name or runner.agent.name
        #: The SDK's server, for a transport of one's own.
        self.sdk: Server[Any] = Server(
            name,
            version=VERSION,
            instructions=instructions or runner.agent.description or None,
            cache_hints={"tools/list": CacheHint(ttl_ms=_FRESH_MS)},
            on_list_tools=self._list,
            on_call_tool=self._call,
        )
        keys = [state_key or os.urandom(_KEY_BYTES)]
        security = RequestStateSecurity(keys=keys, bind_principal=self._user)
        self.sdk.middleware.append(RequestStateBoundary(security, default_audience=name))

    async def run(self) -> None:
        """Serve one client over stdin and stdout, until it leaves. What the agent prints goes to stderr."""
        await self.offers()  # what cannot be served is said before a client asks
        try:
            # A print that is still in a buffer must not end up between the messages either.
            async with stdio_server() as (reading, writing):
                with redirect_stdout(sys.stderr):
                    await self.sdk.run(reading, writing, self.sdk.create_initialization_options())
        finally:
            await self.close()

    def http_app(self, path: str = "/mcp", *, hosts: Sequence[str] | None = _LOOPBACK) -> ASGIApp:
        """An ASGI app that serves clients over HTTP at `path`.

        Its lifespan must run. It asks for no token: who serves it does. Requests for other `hosts` (``shop.example``,
        ``127.0.0.1:*`` for any port), or from pages of others, are refused; None: who serves it checks them.
        """
        origins = [f"{scheme}://{host}" for host in hosts or () for scheme in ("http", "https")]
        security = TransportSecuritySettings(
            enable_dns_rebinding_protection=hosts is not None, allowed_hosts=list(hosts or ()), allowed_origins=origins
        )
        return self.sdk.streamable_http_app(streamable_http_path=path, transport_security=security)

    async def close(self) -> None:
        """Cancel the runs, and close the agent's toolsets."""
        await self.runner.close()

    async def offers(self) -> Mapping[str, Offer]:
        """What clients can call, by name; the tools of toolsets are listed when a client first asks."""
        async with self._making:
            if self._offers is None:
                self._offers = await self._made()
        return self._offers

    def _user(self, ctx: ServerRequestContext[Any, Any]) -> str:
        """Whose sessions a request is about."""
        named = self._user_of(ctx.request) if self._user_of is not None and ctx.request is not None else None
        return named or self._user_id

    async def _made(self) -> Mapping[str, Offer]:
        if self._tools is None:
            offer = AgentOffer(self.runner)
            return {offer.definition.name: offer}
        agent = self.runner.agent
        assert isinstance(agent, LlmAgent)
        found = {tool.name: tool for tool in await agent.canonical_tools() if tool._get_declaration() is not None}
        if not found:
            raise ConfigurationError(f"the agent {agent.name!r} has no tools to be served")
        names = list(found) if self._tools == "all" else list(self._tools)
        if missing := [name for name in names if name not in found]:
            hint = did_you_mean(missing[0], list(found)) or f" (there are: {', '.join(found) or 'none'})"
            raise ConfigurationError(f"the agent {agent.name!r} has no tool {missing[0]!r} to be served{hint}")
        return {name: ToolOffer(self.runner, found[name]) for name in names}

    async def _list(self, ctx: ServerRequestContext[Any], params: PaginatedRequestParams | None) -> ListToolsResult:
        try:
            offers = await self.offers()
        except Exception as error:
            raise MCPError(code=INTERNAL_ERROR, message=str(failure(error, "the tools cannot be listed"))) from error
        return ListToolsResult(tools=[offer.definition for offer in offers.values()])

    async def _call(
        self, ctx: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        offers = await self.offers()
        if (offer := offers.get(params.name)) is None:
            hint = did_you_mean(params.name, list(offers))
            raise MCPError(code=INVALID_PARAMS, message=f"there is no tool {params.name[:80]!r}{hint}")
        caller = Caller(ctx, params.input_responses, params.request_state)
        try:
            return await offer.call(dict(params.arguments or {}), self._user(ctx), caller)
        except InputRequired as required:
            return required.result
        except (RunFailedError, UnfitAnswerError) as error:
            return failed(str(error))
        except RunRefusedError as error:
            return failed(str(error))
        except SessionBusyError:
            return failed("the session has a run under way: call again once it has ended")
        except Exception as error:  # noqa: BLE001 - the boundary of a request
            return failed(str(failure(error)))


def to_mcp_server(
    agent: BaseAgent | None = None,
    *,
    name: str | None = None,
    instructions: str | None = None,
    runner: Runner | None = None,
    tools: Sequence[str] | str | None = None,
    state_key: str | None = None,
) -> AgentServer:
    """An agent as an MCP server: `await to_mcp_server(agent).run()` serves one client over stdin and stdout.

    Without a `runner`, sessions and artifacts are kept in memory. `tools` (names, or "all") serves tools one by one.
    """
    if (runner is None and agent is None) or (runner is not None and agent not in (None, runner.agent)):
        raise ConfigurationError("to_mcp_server takes an agent, or a runner=, or a runner= of that agent")
    if runner is None:
        assert agent is not None
        runner = Runner(node=agent, app_name=agent.name, artifact_service=InMemoryArtifactService())
    return AgentServer(runner, name=name, instructions=instructions, tools=tools, state_key=state_key)


def _over(runner: Runner, agent: BaseAgent) -> Runner:
    """A runner of `agent` over the stores and plugins of another one."""
    return Runner(
        app_name=runner.app_name,
        node=agent,
        plugins=[HiddenErrors()],
        composition=runner.composition,
        session_service=runner.session_service,
        artifact_service=runner.artifact_service,
        memory_service=runner.memory_service,
        credential_service=runner.credential_service,
    )
