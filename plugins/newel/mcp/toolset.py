"""McpToolset: the tools of an MCP server."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TextIO

from newel.mcp.definitions import Definition
from newel.mcp.names import fitted
from newel.mcp.schemas import SchemaError
from newel.mcp.sessions import HeaderProvider, MCPSessionManager, headers_from
from newel.mcp.settings import settings_of
from newel.mcp.texts import one_line
from newel.mcp.tool import McpTool, ProgressCallback
from newel.tools.confirmation import Needed
from newel_kernel import BaseTool, BaseToolset, Effect, ReadonlyContext

if TYPE_CHECKING:
    from newel.mcp.client.connection import Listing

_log = logging.getLogger("newel.mcp")
#: The most lists whose tools are kept: users of one server may see different ones.
_MOST_KEPT = 64


class McpToolset(BaseToolset):
    """The tools of one server.

    `connection_params` says how the server is reached. `header_provider` gives further headers for who calls: each
    set of headers has a session of its own. With `trusted` the server's word on which tools may be called again is
    believed.
    """

    def __init__(
        self,
        *,
        connection_params: object,
        tool_filter: Callable[[BaseTool, ReadonlyContext | None], bool] | Sequence[str] | None = None,
        tool_name_prefix: str | None = None,
        errlog: TextIO | None = None,
        require_confirmation: Needed = False,
        header_provider: HeaderProvider | None = None,
        progress_callback: ProgressCallback | None = None,
        trusted: bool = False,
    ) -> None:
        super().__init__(tool_filter=tool_filter, tool_name_prefix=tool_name_prefix)
        self._manager = MCPSessionManager(connection_params, errlog)
        self.connection_params = self._manager.params
        self.require_confirmation = require_confirmation
        self.header_provider = header_provider
        self.errlog = errlog
        self.trusted = trusted
        self._progress_callback = progress_callback
        self._tools: dict[Listing, list[BaseTool]] = {}
        self._told: set[str] = set()

    @property
    def __newel_origin__(self) -> str:
        """Which server this is, for error messages."""
        prefix = f" with the prefix {self.tool_name_prefix!r}" if self.tool_name_prefix else ""
        return f"McpToolset of {self._manager.server}{prefix}"

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """The tools of the server's list that can be used, as the filter wants them."""
        listing = await self._list(readonly_context)
        tools = self._tools.get(listing)
        if tools is None:
            while len(self._tools) >= _MOST_KEPT:
                self._tools.pop(next(iter(self._tools)))
            tools = self._tools[listing] = self._made(listing)
        return tools if not self.tool_filter else [t for t in tools if self._is_tool_selected(t, readonly_context)]

    async def close(self) -> None:
        """End all sessions with the server."""
        await self._manager.close()

    async def _list(self, context: ReadonlyContext | None) -> Listing:
        headers = await headers_from(self.header_provider, context)
        async with self._manager.lease(headers, settings_of(context)) as connection:
            return await connection.tools()

    def _made(self, listing: Listing) -> list[BaseTool]:
        """The tools that can be used; of the others it is said once why not."""
        spellings, left_out = fitted([one.name for one in listing.definitions], self.tool_name_prefix)
        left_out += listing.left_out
        tools: list[BaseTool] = []
        for definition in listing.definitions:
            if (name := spellings.pop(definition.name, None)) is None:
                continue
            try:
                tools.append(self._tool(definition, name))
            except SchemaError as error:
                left_out.append(f"{one_line(definition.name)!r}: {error}")
        self._tell(left_out)
        return tools

    def _tool(self, definition: Definition, name: str) -> McpTool:
        return McpTool(
            mcp_tool=definition,
            mcp_session_manager=self._manager,
            require_confirmation=self.require_confirmation,
            header_provider=self.header_provider,
            progress_callback=self._progress_callback,
            name=name,
            effect=definition.hinted_effect if self.trusted else Effect.AT_MOST_ONCE,
        )

    def _tell(self, left_out: list[str]) -> None:
        if new := [one for one in left_out if one not in self._told]:
            self._told.update(new)
            _log.warning("newel: tools of the MCP server %s are left out: %s", self._manager.server, "; ".join(new))
