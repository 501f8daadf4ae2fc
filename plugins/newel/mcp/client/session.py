"""Session: the SDK's session with a server, over the transport of its parameters."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TextIO

import httpx2
from mcp import ClientSession
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types import (
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    UNSUPPORTED_PROTOCOL_VERSION,
    ClientCapabilities,
    ElicitationCapability,
    ErrorData,
    FormElicitationCapability,
    Implementation,
    Tool,
    UrlElicitationCapability,
)
from mcp_types.methods import validate_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from newel.mcp.client.changes import listening
from newel.mcp.client.nesting import prune_lists
from newel.mcp.client.pipes import Reader, Tokens, Writer
from newel.mcp.client.process import ErrorOutput, started
from newel.mcp.parameters import (
    ConnectionParams,
    SseConnectionParams,
    StdioConnectionParams,
    StreamableHTTPConnectionParams,
)
from newel.mcp.schemas import MOST_DEPTH, depth
from newel.mcp.settings import Settings
from newel.mcp.texts import one_line
from newel.version import VERSION

_log = logging.getLogger("newel.mcp")
#: Seconds that a server gets for the first question of the new era.
_PROBE = 2.0
#: Why a question within a call is declined.
_DECLINED = (
    "this client does not hold a call open until a person answers: ask with an input_required result (2026-07-28), or "
    "as an argument of the tool"
)
#: The levels of a tool with a schema as deep as may be.
_MOST_DEPTH = MOST_DEPTH + 2


@dataclass(slots=True)
class Reply:
    """What HTTP said to one request: the SDK keeps the status to itself."""

    status: int | None = None
    challenge: str = ""


#: The reply of the request that runs; the SDK sends a request in a copy of its caller's context.
REPLY: ContextVar[Reply | None] = ContextVar("reply to a request", default=None)


@dataclass(slots=True)
class Target:
    """The server of a session, and what the session does at which event."""

    params: ConnectionParams
    headers: Mapping[str, str]
    settings: Settings
    output: ErrorOutput = field(default_factory=ErrorOutput)
    callbacks: dict[str, Any] = field(default_factory=dict)
    #: Called when the server's tools may have changed.
    changed: Callable[[], None] = lambda: None


@asynccontextmanager
async def opened(target: Target, at_end: Callable[[], None]) -> AsyncGenerator[ClientSession, None]:
    """A session, its protocol agreed upon; `at_end` is called when the server's output ends."""
    async with AsyncExitStack() as stack:
        async with asyncio.timeout(target.params.timeout):
            reader, writer = await _streams(target, at_end, stack)
            dispatcher = Dispatcher(reader, writer)
            client = Implementation(name="newel", version=VERSION)
            session = Session(dispatcher=dispatcher, client_info=client, **_declining(target.callbacks))
            session.asks_user = "elicitation_callback" not in target.callbacks
            await stack.enter_async_context(session)
            await _agree(session, target)
            await stack.enter_async_context(listening(session, target.changed))
        yield session


async def _streams(target: Target, at_end: Callable[[], None], stack: AsyncExitStack) -> tuple[Any, Any]:
    params = target.params
    if isinstance(params, StdioConnectionParams):
        process = await stack.enter_async_context(started(params, target.output, target.settings.max_message_bytes))
        tokens, server = Tokens(), params.server_params
        return Reader(process, server, tokens, at_end), Writer(process, server, tokens)
    if isinstance(params, SseConnectionParams):
        make = _noting(params.httpx_client_factory or create_mcp_http_client)
        return await stack.enter_async_context(
            sse_client(
                params.url,
                headers=dict(target.headers),
                timeout=params.timeout,
                sse_read_timeout=params.sse_read_timeout,
                httpx_client_factory=make,
            )
        )
    client = await stack.enter_async_context(_http_client(params, target.headers))
    return await stack.enter_async_context(
        streamable_http_client(params.url, http_client=client, terminate_on_close=params.terminate_on_close)
    )


def _http_client(params: StreamableHTTPConnectionParams, headers: Mapping[str, str]) -> httpx2.AsyncClient:
    make = _noting(params.httpx_client_factory or create_mcp_http_client)
    timeout = httpx2.Timeout(params.timeout, read=params.sse_read_timeout)
    return make(headers=dict(headers), timeout=timeout)


def _noting(make: Callable[..., Any]) -> Callable[..., httpx2.AsyncClient]:
    """`make`, with a hook that notes the status of each reply for the request that it answers."""

    def made(**options: Any) -> httpx2.AsyncClient:
        client: httpx2.AsyncClient = make(**options)
        hooks = client.event_hooks
        client.event_hooks = {**hooks, "response": [*hooks.get("response", ()), _note]}
        return client

    return made


async def _note(response: httpx2.Response) -> None:
    if response.request.method == "POST":
        prune_lists(response)
    if (reply := REPLY.get()) is not None and response.request.method == "POST":
        reply.status = response.status_code
        reply.challenge = response.headers.get("www-authenticate", "")


async def _agree(session: ClientSession, target: Target) -> None:
    """Agree upon a version of the protocol, of either era; a server is asked for the other one if it has only that."""
    asked = target.callbacks.keys() & {"elicitation_callback", "sampling_callback"}  # within a call only in the old era
    stateless_first = isinstance(target.params, StdioConnectionParams) and not asked
    if target.settings.protocol == "auto" or (stateless_first and target.settings.protocol is None):
        with suppress(MCPError, TimeoutError, ValidationError):
            async with asyncio.timeout(min(_PROBE, target.params.timeout / 3)):  # some servers ignore what is new
                await session.discover()
                return
    try:
        await session.initialize()
    except MCPError as error:
        if error.code not in (METHOD_NOT_FOUND, UNSUPPORTED_PROTOCOL_VERSION):
            raise
        await session.discover()


class Session(ClientSession):
    """The SDK's session. In the era in which a server asks with a result, the user can be asked: it says so."""

    #: Whether questions to the user are left to who made the call.
    asks_user = False

    def _build_capabilities(self, version: str) -> ClientCapabilities:
        capabilities = super()._build_capabilities(version)
        if self.asks_user:
            modes = {"form": FormElicitationCapability(), "url": UrlElicitationCapability()}
            asks = version in MODERN_PROTOCOL_VERSIONS
            capabilities.elicitation = ElicitationCapability.model_validate(modes) if asks else None
        return capabilities


def _declining(callbacks: Mapping[str, Any]) -> dict[str, Any]:
    """`callbacks`, with one for questions that says why they are declined."""
    return {"elicitation_callback": _decline, **callbacks}


async def _decline(_context: object, _params: object) -> ErrorData:
    """A question within a call: see `newel.mcp.questions`."""
    return ErrorData(code=INVALID_REQUEST, message=_DECLINED)


class Dispatcher(JSONRPCDispatcher):
    """The SDK's dispatcher; an entry of a list that is not a tool is left out, and not the whole list."""

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None, **options: Any
    ) -> dict[str, Any]:
        """The result of a request."""
        raw = await super().send_raw_request(method, params, opts, **options)
        if method == "tools/list" and isinstance(tools := raw.get("tools"), list):
            raw["tools"] = [tool for tool in tools if _is_tool(tool)]
        return raw


def _is_tool(tool: object) -> bool:
    if (problem := _problem(tool)) is None:
        return True
    name = tool.get("name") if isinstance(tool, dict) else tool
    _log.warning("newel: an MCP server lists %s, which is left out: %s", one_line(repr(name), 80), problem)
    return False


def _problem(tool: object) -> str | None:
    """Why an entry of a list cannot be read as a tool; None if it can."""
    if depth(tool, _MOST_DEPTH) > _MOST_DEPTH:
        return f"it is nested more than {_MOST_DEPTH} levels deep"
    try:
        validate_server_result("tools/list", LATEST_HANDSHAKE_VERSION, {"tools": [tool]})
        Tool.model_validate(tool, by_name=False)
    except ValidationError as error:
        return f"it is not a tool: {one_line(error.errors(include_url=False)[0]['msg'])}"
    return None


def make_error_output(tee: TextIO | None) -> ErrorOutput:
    """The place for a server's error output; with `tee` it is written there too."""
    return ErrorOutput(tee)
