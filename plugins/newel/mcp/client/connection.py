"""Connection: one session with a server, held by a task of its own, and what the server lists."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, TextIO, TypeVar

from mcp import ClientSession
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    ToolListChangedNotification,
)
from pydantic import BaseModel, ValidationError

from newel.auth.secrecy import LEAST
from newel.connections.owned import ConnectionEndedError, Owned, leaf
from newel.mcp.client import inputs
from newel.mcp.client.session import REPLY, Reply, Target, make_error_output, opened
from newel.mcp.definitions import Definition
from newel.mcp.errors import (
    McpError,
    McpLostError,
    McpRefusedError,
    McpTimeoutError,
    McpUnauthorizedError,
    McpUnreachableError,
    is_short_of_scopes,
)
from newel.mcp.parameters import ConnectionParams, StdioConnectionParams, call_seconds, described
from newel.mcp.questions import Asked
from newel.mcp.settings import Settings
from newel.mcp.texts import cleaned, one_line
from newel_kernel import Json, seam
from newel_types import SECRET

T = TypeVar("T")

#: The most pages, and the most tools, of a list.
MOST_PAGES, MOST_TOOLS = 100, 2_000
#: Seconds for the notice of a failure to become the reason of it.
_REASON = 1.0
#: How the SDK says that a connection has ended; a server may send the same code.
_ENDS = ("Connection closed", "SSE stream")


@dataclass(frozen=True, slots=True, eq=False)
class Listing:
    """The tools of a server at one time."""

    definitions: Sequence[Definition]
    left_out: Sequence[str]


@dataclass(slots=True)
class _Limit:
    """The time limit of a request: from its last sign of life, up to a ceiling."""

    seconds: float
    ceiling: float
    began: float = field(default_factory=seam.monotonic)
    last: float = field(default_factory=seam.monotonic)

    def left(self) -> float:
        now = seam.monotonic()
        return min(self.last + self.seconds - now, self.began + self.ceiling - now)

    def passed(self) -> str:
        """The limit that has passed, in words."""
        reached = seam.monotonic() - self.began >= self.ceiling
        return f"{self.ceiling:g} s" if reached else f"{self.seconds:g} s"


class Connection:
    """A session with one server, for one set of headers. Requests may be made from any task of its loop."""

    def __init__(
        self,
        params: ConnectionParams,
        headers: Mapping[str, str],
        settings: Settings,
        *,
        errlog: TextIO | None = None,
        callbacks: Mapping[str, Any] | None = None,
    ) -> None:
        self.server = described(params)
        self._params = params
        self._settings = settings
        self._target = Target(params, headers, settings, make_error_output(errlog))
        self._target.callbacks = {**(callbacks or {}), "message_handler": self._hear}
        self._target.changed = self._change
        self._opening = Reply()
        self._owned: Owned[ClientSession] = Owned(self._open, name=f"MCP server {self.server}")
        self._listing: Listing | None = None
        self._stale = False
        self._expires = float("inf")
        self._listed = 0.0
        self._lists = asyncio.Lock()
        #: How many requests use it now, and when the last one ended.
        self.users = 0
        self.idle_since = self._owned.loop.time()

    @property
    def ended(self) -> bool:
        """Whether a new session is needed."""
        return self._owned.ended

    @property
    def gone(self) -> bool:
        """Whether nothing of the session is left."""
        return self._owned.gone

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop of the session."""
        return self._owned.loop

    async def session(self) -> ClientSession:
        """The SDK's session, once it is open; raises McpUnreachableError."""
        try:
            return await self._owned.ready()
        except McpError:
            raise
        except Exception as error:
            raise self._unreachable(error) from error

    async def call(
        self, name: str, arguments: Json, on_progress: ProgressFnT | None = None, asked: Asked | None = None
    ) -> CallToolResult:
        """The result of a tool; raises an McpError if there is none. `asked`: see `inputs.call`."""
        limit = _Limit(call_seconds(self._params), max(self._settings.max_seconds, call_seconds(self._params)))

        async def beat(progress: float, total: float | None, message: str | None) -> None:
            limit.last = seam.monotonic()
            if on_progress is not None:
                await on_progress(progress, total, message)

        async def work(session: ClientSession) -> CallToolResult:
            return await inputs.call(session, name, arguments, beat, asked)

        return await self.request(work, f"the tool {one_line(name, 80)!r}", limit)

    async def tools(self, lifetime: float | None = None) -> Listing:
        """The tools that the server lists: asked for once, and again when the server says that they changed.

        A list is also older than it may be after `lifetime` seconds.
        """
        if self._listing is not None and not self._is_old(lifetime):
            return self._listing
        async with self._lists:
            if self._listing is None or self._is_old(lifetime):
                self._stale = False
                self._listing = await self._list()
            return self._listing

    async def request(
        self, work: Callable[[ClientSession], Coroutine[Any, Any, T]], what: str, limit: _Limit | None = None
    ) -> T:
        """The result of a request that `work` makes; raises an McpError if there is none."""
        await self.session()
        limit = limit or _Limit(self._params.timeout, self._params.timeout)
        reply = Reply()

        async def noting(session: ClientSession) -> T:
            REPLY.set(reply)
            return await work(session)

        try:
            return await self._in_time(self._owned.begin(noting), what, limit)
        except ConnectionEndedError as error:
            raise await self._lost(what, error, acted=error.begun) from error
        except MCPError as error:
            raise await self._refusal(what, error, reply) from error
        except (ValidationError, RecursionError) as error:
            raise McpRefusedError(f"the MCP server {self.server} gave no valid answer to {what}") from error

    async def _in_time(self, future: asyncio.Future[T], what: str, limit: _Limit) -> T:
        loop = future.get_loop()
        timers: list[asyncio.TimerHandle] = []

        def look() -> None:
            if (left := limit.left()) > 0:
                timers[:] = [loop.call_later(left, look)]
            elif not future.done():
                future.set_exception(
                    McpTimeoutError(f"the MCP server {self.server} did not answer {what} within {limit.passed()}")
                )

        timers.append(loop.call_later(limit.left(), look))
        try:
            return await future
        finally:
            timers[0].cancel()

    def _is_old(self, lifetime: float | None) -> bool:
        now = seam.monotonic()
        return self._stale or now >= self._expires or (lifetime is not None and now >= self._listed + lifetime)

    async def _list(self) -> Listing:
        found: list[Definition] = []
        left_out: list[str] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            page = await self.request(_page(cursor), "tools/list")
            found += [
                Definition.of(tool.model_dump(by_alias=True, mode="json", exclude_none=True)) for tool in page.tools
            ]
            cursor = page.next_cursor
            if cursor is None or len(found) >= MOST_TOOLS:
                break
        if cursor is not None or len(found) > MOST_TOOLS:
            left_out.append(f"what is beyond {MOST_PAGES} pages or {MOST_TOOLS} tools")
        self._listed = seam.monotonic()
        self._expires = self._listed + self._lifetime(page, await self.session())
        return Listing(found[:MOST_TOOLS], left_out)

    def _lifetime(self, page: ListToolsResult, session: ClientSession) -> float:
        """The seconds for which a list is good. A server that tells of changes need not be asked for them."""
        if session.discover_result is None or page.ttl_ms is None:
            return float("inf")
        capabilities = session.server_capabilities
        tells = capabilities is not None and capabilities.tools is not None and capabilities.tools.list_changed
        return float("inf") if tells and page.ttl_ms == 0 else page.ttl_ms / 1000

    def when_gone(self, then: Callable[[], object]) -> None:
        """Call `then` once nothing of the session is left."""
        self._owned.when_gone(then)

    def retire(self) -> None:
        """End the session without waiting for it."""
        self._owned.retire()

    async def close(self) -> None:
        """End the session; from any task of any running loop."""
        await self._owned.close()

    async def _hear(self, message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._change()

    def _change(self) -> None:
        self._stale = True

    def _open(self) -> AbstractAsyncContextManager[ClientSession]:
        REPLY.set(self._opening)
        return opened(self._target, self.retire)

    async def _refusal(self, what: str, error: MCPError, reply: Reply) -> McpError:
        """What an error of the SDK means."""
        if error.code == CONNECTION_CLOSED and error.message.startswith(_ENDS):
            return await self._lost(what, error, acted=True)
        status = reply.status or 0
        session = await self.session()
        if status == 404 and session.initialize_result is not None:  # later, it says that there is no such method
            self.retire()
            return McpLostError(f"the MCP server {self.server} has forgotten the session (status 404)", acted=False)
        if status == 401:
            self.retire()
            return self._unauthorized(reply)
        if status == 403 and is_short_of_scopes(reply.challenge):
            return McpUnauthorizedError(
                f"the MCP server {self.server} answers {what} with 403: the credential does not cover it",
                reply.challenge,
            )
        if status >= 400 and error.message == "Server returned an error response":
            return McpRefusedError(f"the MCP server {self.server} answered {what} with status {status}")
        return McpRefusedError(
            f"the MCP server {self.server} answered {what} with the error {error.code}: {one_line(error.message, 500)}"
        )

    async def _lost(self, what: str, error: BaseException, *, acted: bool) -> McpLostError:
        self.retire()
        await self._owned.wait(_REASON)
        failure = self._owned.failure
        if type(failure).__name__ in ("ConnectError", "ConnectTimeout"):
            acted = False
        why = (
            self._why(failure)
            if failure is not None or self._target.output.status is not None
            else "the connection ended"
        )
        return McpLostError(f"the MCP server {self.server} was lost during {what}: {why}", acted=acted)

    def _unauthorized(self, reply: Reply) -> McpUnauthorizedError:
        return McpUnauthorizedError(
            f"the MCP server {self.server} answers 401: it wants a credential, or refuses the one it was sent; give "
            f"the toolset headers, a header_provider, or an auth_credential (for OAuth2 with a client_id, or with a "
            f"redirect_uri to register there)",
            reply.challenge,
        )

    def _unreachable(self, error: BaseException) -> McpUnreachableError:
        error = leaf(error)
        if self._opening.status == 401:
            return self._unauthorized(self._opening)
        return McpUnreachableError(f"the MCP server {self.server} cannot be reached: {self._why(error)}")

    def _why(self, error: BaseException | None) -> str:
        """Why a session failed, and what to do."""
        parts = [_reason(error, self._params.timeout)] if error is not None else []
        if (self._opening.status or 0) >= 400:
            parts.append(f"status {self._opening.status}")
        if self._target.output.status is not None:
            parts.append(f"its process ended with status {self._target.output.status}")
        if isinstance(self._params, StdioConnectionParams) and self._params.server_params.cwd is None:
            files = [one for one in self._params.server_params.args if one.endswith((".py", ".js", ".json"))]
            if any(not one.startswith(("/", "-")) for one in files):
                parts.append("it starts in an empty folder of its own: give absolute paths, or a cwd")
        if last := self._target.output.last():
            parts.append(f"its error output ends with: {_masked(last, self._params)}")
        return "; ".join(parts) or "the connection ended"


def _page(cursor: str | None) -> Callable[[ClientSession], Coroutine[Any, Any, ListToolsResult]]:
    async def work(session: ClientSession) -> ListToolsResult:
        return await session.list_tools(params=PaginatedRequestParams(cursor=cursor) if cursor else None)

    return work


def plain(model: BaseModel) -> Json:
    """What the server sent, as JSON."""
    try:
        return model.model_dump(by_alias=True, mode="json", exclude_none=True)
    except ValueError as error:
        raise McpRefusedError(f"an MCP server's answer cannot be read: {one_line(str(error))}") from error


def _reason(error: BaseException, seconds: float) -> str:
    if isinstance(error, TimeoutError):
        return f"it did not answer within {seconds:g} s (the timeout of its connection parameters)"
    if isinstance(error, FileNotFoundError):
        return f"there is no command {error.filename!r}" if error.filename else "there is no such command"
    if isinstance(error, MCPError) and error.message.startswith(_ENDS):
        return "it ended before it answered"
    text = one_line(str(error), 300)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _masked(text: str, params: ConnectionParams) -> str:
    """A server's text without the secrets that it was given."""
    given = params.server_params.env if isinstance(params, StdioConnectionParams) else params.headers
    for value in sorted(map(str, (given or {}).values()), key=len, reverse=True):
        if len(value) >= LEAST:
            text = text.replace(value, SECRET)
    return cleaned(text, 1_000)
