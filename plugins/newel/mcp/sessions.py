"""Session manager: the sessions of a toolset, found by who calls."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, TextIO

from newel.mcp import client
from newel.mcp.parameters import (
    ConnectionParams,
    SseConnectionParams,
    StdioConnectionParams,
    StreamableHTTPConnectionParams,
    described,
    headers_of,
)
from newel.mcp.settings import Settings, settings_of
from newel_kernel import ConfigurationError, FeatureUnavailableError

if TYPE_CHECKING:
    from newel.mcp.client import Connection, Pool

_KINDS = (StdioConnectionParams, SseConnectionParams, StreamableHTTPConnectionParams)
_MISSING = "MCP servers need the package mcp, version 2.3 or later (1.x is not supported): pip install 'newel[mcp]'"


class MCPSessionManager:
    """The sessions with one server: one for each set of headers, shared by who sends the same."""

    def __init__(
        self,
        connection_params: object,
        errlog: TextIO | None = None,
        *,
        sampling_callback: object = None,
        sampling_capabilities: object = None,
        elicitation_callback: object = None,
    ) -> None:
        self.params = params_of(connection_params)
        self.server = described(self.params)
        self._errlog = errlog
        given = {
            "sampling_callback": sampling_callback,
            "sampling_capabilities": sampling_capabilities,
            "elicitation_callback": elicitation_callback,
        }
        self._callbacks: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        self._pool: Pool | None = None

    @property
    def pool(self) -> Pool:
        """The sessions; the SDK is imported with them."""
        if self._pool is None:
            try:
                self._pool = client.Pool()
            except ImportError as error:
                raise FeatureUnavailableError(_MISSING) from error
        return self._pool

    def lease(
        self, headers: Mapping[str, str] | None = None, settings: Settings | None = None
    ) -> AbstractAsyncContextManager[Connection]:
        """The session of who sends these headers in addition to the server's own, kept while it is used."""
        chosen = settings or settings_of(None)
        sent = {**headers_of(self.params), **(headers or {})}
        key = tuple(sorted((name.lower(), value) for name, value in sent.items()))

        def make() -> Connection:
            return client.Connection(self.params, sent, chosen, errlog=self._errlog, callbacks=self._callbacks)

        return self.pool.lease(key, make, chosen, max(self.params.timeout, 10.0))

    async def create_session(self, headers: Mapping[str, str] | None = None) -> Any:
        """The SDK's session for these headers. It is shared, and stays open until it is idle or closed."""
        async with self.lease(headers) as connection:
            return await connection.session()

    async def close(self) -> None:
        """End all sessions."""
        if self._pool is not None:
            await self._pool.close()


def params_of(given: object) -> ConnectionParams:
    """Connection parameters; a server's own stand for those with the default timeout."""
    if isinstance(given, _KINDS):
        return given
    if hasattr(given, "command") and hasattr(given, "args"):
        return StdioConnectionParams.model_validate({"server_params": given})
    raise ConfigurationError(
        f"connection_params must be StdioConnectionParams, StreamableHTTPConnectionParams or SseConnectionParams, not "
        f"{type(given).__name__}"
    )
