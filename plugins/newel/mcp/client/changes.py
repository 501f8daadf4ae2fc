"""Changes: a stateless server tells of changes to its tools only to who listens for them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress

from mcp import ClientSession
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost, listen
from mcp.shared.exceptions import MCPError

from newel_kernel import seam

#: Seconds that the server gets to say that it will tell; and those between two attempts to listen.
_PATIENCE, _PAUSE = 1.0, 5.0


@asynccontextmanager
async def listening(session: ClientSession, changed: Callable[[], None]) -> AsyncGenerator[None, None]:
    """Listen for changes to the tools, if the server tells of them in this way."""
    capabilities = session.server_capabilities
    tools = capabilities.tools if capabilities is not None else None
    if session.discover_result is None or tools is None or not tools.list_changed:
        yield
        return
    begun = asyncio.Event()
    task = seam.spawn(_listen(session, changed, begun), name="changes of an MCP server")
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                await begun.wait()
        yield
    finally:
        task.cancel()
        await asyncio.wait((task,), timeout=_PATIENCE)


async def _listen(session: ClientSession, changed: Callable[[], None], begun: asyncio.Event) -> None:
    """Listen, again after each loss: what has changed meanwhile is not known."""
    while True:
        try:
            async with listen(session, tools_list_changed=True) as subscription:
                if begun.is_set():
                    changed()
                begun.set()
                async for _ in subscription:
                    changed()
        except (SubscriptionLost, MCPError, TimeoutError):
            pass
        except (ListenNotSupportedError, RuntimeError):  # a server that said so and does not
            return
        finally:
            begun.set()
        await asyncio.sleep(_PAUSE)
