"""McpToolset: the tools of an MCP server."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TextIO

from newel.contexts.context import full
from newel.mcp import media
from newel.mcp.access import Access, HeaderProvider
from newel.mcp.definitions import Definition
from newel.mcp.errors import McpLostError, McpUnauthorizedError, McpUnreachableError
from newel.mcp.names import fitted
from newel.mcp.parameters import identity
from newel.mcp.pins import Doubt, Pins, doubts, key_of, pin, pins_in, unseen
from newel.mcp.resources import LoadMcpResourceTool, Resources
from newel.mcp.schemas import SchemaError
from newel.mcp.sessions import MCPSessionManager
from newel.mcp.settings import settings_of
from newel.mcp.texts import one_line
from newel.mcp.tool import McpTool, ProgressCallback
from newel.tools.confirmation import Needed
from newel.tools.tool_configs import ToolArgsConfig
from newel_kernel import BaseTool, BaseToolset, Context, Effect, LlmRequest, ReadonlyContext, current_operation
from newel_types import AuthConfig, AuthCredential, AuthScheme, deferred

if TYPE_CHECKING:
    from newel.mcp.client.connection import Listing

_parsed = deferred("newel.mcp.toolset_config", "parsed")
_log = logging.getLogger("newel.mcp")
#: The most lists whose tools are kept: users of one server may see different ones.
_MOST_KEPT = 64
#: Seconds before an optional server that could not be reached is tried again.
_PAUSE = 30.0
#: How often a request that only reads is made before its server counts as lost.
_ATTEMPTS = 3


class McpToolset(BaseToolset, Resources):
    """The tools of one server.

    `connection_params` says how the server is reached. `header_provider` gives further headers for who calls: each
    set of headers has a session of its own. `auth_scheme` and `auth_credential` ask the user for a credential. Without
    `required` an agent goes on without a server that cannot be reached. With `trusted` the server's word on which
    tools may be called again is believed. `pins` are the digests of the definitions that are used, by the names of
    tools: with them no other tool of the server is.
    """

    #: In a streamed run its tools tell how far they are.
    __newel_reports__ = True

    def __init__(
        self,
        *,
        connection_params: object,
        tool_filter: Callable[[BaseTool, ReadonlyContext | None], bool] | Sequence[str] | None = None,
        tool_name_prefix: str | None = None,
        tool_list_cache_ttl_seconds: float | None = None,
        errlog: TextIO | None = None,
        auth_scheme: AuthScheme | None = None,
        auth_credential: AuthCredential | None = None,
        require_confirmation: Needed = False,
        header_provider: HeaderProvider | None = None,
        progress_callback: ProgressCallback | None = None,
        use_mcp_resources: bool = False,
        sampling_callback: object = None,
        sampling_capabilities: object = None,
        elicitation_callback: object = None,
        credential_key: str | None = None,
        propagate_grounding_metadata: bool = False,
        required: bool = True,
        trusted: bool = False,
        pins: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(tool_filter=tool_filter, tool_name_prefix=tool_name_prefix)
        self._manager = MCPSessionManager(
            connection_params,
            errlog,
            sampling_callback=sampling_callback,
            sampling_capabilities=sampling_capabilities,
            elicitation_callback=elicitation_callback,
        )
        self.connection_params = self._manager.params
        self.tool_list_cache_ttl_seconds = tool_list_cache_ttl_seconds
        self.errlog = errlog
        self.auth_scheme = auth_scheme
        self.auth_credential = auth_credential
        self.require_confirmation = require_confirmation
        self.header_provider = header_provider
        self.required = required
        self.trusted = trusted
        self.pins = pins
        self._pins_key = key_of(identity(self._manager.params))
        self._access = Access(self._manager.params, header_provider, auth_scheme, auth_credential, credential_key)
        self._progress_callback = progress_callback
        self._propagates = propagate_grounding_metadata
        self._resource_tool = LoadMcpResourceTool(self) if use_mcp_resources else None
        self._tools: dict[tuple[Listing, frozenset[str]], list[BaseTool]] = {}
        self._told: set[str] = set()
        #: When an optional server may be tried again.
        self._next_try = 0.0

    @property
    def __newel_origin__(self) -> str:
        """Which server this is, for error messages."""
        prefix = f" with the prefix {self.tool_name_prefix!r}" if self.tool_name_prefix else ""
        return f"McpToolset of {self._manager.server}{prefix}"

    @classmethod
    def from_config(cls, config: ToolArgsConfig, config_abs_path: str) -> Self:
        """The toolset that an agent file describes."""
        return cls(**_parsed()(config.model_dump(), config_abs_path).arguments())

    def get_auth_config(self) -> AuthConfig | None:
        """The credential that the server wants, as far as it is known."""
        return self._access.config

    async def __newel_prepare__(self, context: Context) -> bool:
        """Connect and list the tools; whether the server wants a credential that the user can be asked for."""
        if self._is_skipped():
            return False
        try:
            listing = await self._list(context)
            if self._policy(context) == "trust" and (new := unseen(listing.definitions, self._pinned(context))):
                pin(full(context), self._pins_key, new)
        except McpUnauthorizedError as error:
            if not await self._access.refused(error, context):
                raise
            return True
        except McpUnreachableError as error:
            if self.required:
                raise
            self._skip(error, context)
        return False

    async def process_llm_request(self, *, tool_context: Context, llm_request: LlmRequest) -> None:
        """Show the pictures of the last results, and tell the model of a server that cannot be reached."""
        await media.show(llm_request, full(tool_context))
        if self._is_skipped():
            server = one_line(self._manager.server)
            llm_request.append_instructions([f"The tools of the MCP server {server} cannot be used at the moment."])

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """The tools of the server's list that can be used, as the filter wants them."""
        if self._is_skipped():
            return []
        try:
            listing = await self._list(readonly_context)
        except McpUnreachableError as error:
            if self.required:
                raise
            self._skip(error, readonly_context)
            return []
        found: dict[str, Doubt] = {}
        if (policy := self._policy(readonly_context)) != "unchecked":
            pinned = self._pinned(readonly_context)
            found = doubts(listing.definitions, pinned, self._pins_key, ask_first=policy == "ask")
        key = listing, frozenset(one.change for one in found.values())
        tools = self._tools.get(key)
        if tools is None:
            while len(self._tools) >= _MOST_KEPT:
                self._tools.pop(next(iter(self._tools)))
            tools = self._tools[key] = self._made(listing, found)
        return tools if not self.tool_filter else [t for t in tools if self._is_tool_selected(t, readonly_context)]

    async def close(self) -> None:
        """End all sessions with the server."""
        await self._manager.close()

    async def _list(self, context: ReadonlyContext | None) -> Listing:
        listing: Listing = await self._connected(context, lambda one: one.tools(self.tool_list_cache_ttl_seconds))
        return listing

    async def _connected(self, context: ReadonlyContext | None, work: Any) -> Any:
        """The result of `work`, which only reads: in a new session if another one's call has ended this one."""
        headers = await self._access.headers(context)
        for _ in range(_ATTEMPTS):
            try:
                async with self._manager.lease(headers, settings_of(context)) as connection:
                    return await work(connection)
            except McpLostError as error:
                lost = error
        raise McpUnreachableError(str(lost)) from lost

    def _is_skipped(self) -> bool:
        return not self.required and self._next_try > time.monotonic()

    def _skip(self, error: McpUnreachableError, context: ReadonlyContext | None) -> None:
        """Go on without an optional server for a while; the log and the observers are told."""
        self._next_try = time.monotonic() + _PAUSE
        _log.warning("newel: an agent goes on without an optional server: %s", error)
        if context is not None and (parent := current_operation.get()) is not None:
            operation = parent.child("mcp", self._manager.server, context._invocation_context, self)
            try:
                with operation.running():
                    raise error
            except McpUnreachableError:
                pass

    def _policy(self, context: ReadonlyContext | None) -> str:
        """What is done about definitions; nothing without a context, or if the toolset names what it takes."""
        return "unchecked" if context is None or self.pins is not None else settings_of(context).definitions

    def _pinned(self, context: ReadonlyContext | None) -> Pins:
        return pins_in(context, self._pins_key)

    def _made(self, listing: Listing, found: Mapping[str, Doubt]) -> list[BaseTool]:
        """The tools that can be used; of the others it is said once why not."""
        spellings, left_out = fitted([one.name for one in listing.definitions], self.tool_name_prefix)
        left_out += listing.left_out
        tools: list[BaseTool] = []
        for definition in listing.definitions:
            if (name := spellings.pop(definition.name, None)) is None:
                continue
            if self.pins is not None and self.pins.get(definition.name) != definition.digest:
                left_out.append(f"{one_line(definition.name)!r}: its definition is not pinned, or not this one")
                continue
            try:
                tools.append(self._tool(definition, name, found.get(definition.name)))
            except SchemaError as error:
                left_out.append(f"{one_line(definition.name)!r}: {error}")
        self._tell(left_out)
        return tools if self._resource_tool is None else [*tools, self._resource_tool]

    def _tool(self, definition: Definition, name: str, doubt: Doubt | None) -> McpTool:
        return McpTool(
            mcp_tool=definition,
            mcp_session_manager=self._manager,
            require_confirmation=self.require_confirmation,
            progress_callback=self._progress_callback,
            propagate_grounding_metadata=self._propagates,
            access=self._access,
            name=name,
            doubt=doubt,
            effect=definition.hinted_effect if self.trusted else Effect.AT_MOST_ONCE,
        )

    def _tell(self, left_out: list[str]) -> None:
        if new := [one for one in left_out if one not in self._told]:
            self._told.update(new)
            _log.warning("newel: tools of the MCP server %s are left out: %s", self._manager.server, "; ".join(new))
