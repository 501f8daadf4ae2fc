"""Offers: the resources and prompts of a server."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from mcp import ClientSession
from mcp_types import PaginatedRequestParams, PaginatedResult

from newel.mcp.client.connection import MOST_PAGES, Connection, plain
from newel.mcp.texts import one_line
from newel_kernel import Json

#: The most entries of a list.
MOST = 2_000


async def resources(connection: Connection) -> list[Json]:
    """What the server says of its resources."""
    return await _all(
        connection, "resources/list", lambda session, page: session.list_resources(params=page), "resources"
    )


async def prompts(connection: Connection) -> list[Json]:
    """What the server says of its prompts."""
    return await _all(connection, "prompts/list", lambda session, page: session.list_prompts(params=page), "prompts")


async def read(connection: Connection, uri: str) -> list[Json]:
    """The contents of a resource."""

    async def work(session: ClientSession) -> Any:
        return await session.read_resource(uri)

    result = await connection.request(work, f"resources/read of {one_line(uri, 100)!r}")
    return [plain(one) for one in result.contents]


async def prompt(connection: Connection, name: str, arguments: Mapping[str, str]) -> list[Json]:
    """The messages of a prompt."""

    async def work(session: ClientSession) -> Any:
        return await session.get_prompt(name, dict(arguments))

    result = await connection.request(work, f"the prompt {one_line(name, 80)!r}")
    return [plain(one) for one in result.messages]


async def instructions(connection: Connection) -> str:
    """What the server says about its use."""
    return (await connection.session()).instructions or ""


async def _all(
    connection: Connection,
    what: str,
    ask: Callable[[ClientSession, PaginatedRequestParams | None], Coroutine[Any, Any, PaginatedResult]],
    field: str,
) -> list[Json]:
    found: list[Json] = []
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        page = PaginatedRequestParams(cursor=cursor) if cursor else None

        async def work(session: ClientSession, page: PaginatedRequestParams | None = page) -> PaginatedResult:
            return await ask(session, page)

        result = await connection.request(work, what)
        found += [plain(one) for one in getattr(result, field)]
        cursor = result.next_cursor
        if cursor is None or len(found) >= MOST:
            break
    return found[:MOST]
