"""The pool: however many users call, there are few sessions, and no header reaches another user's.

NEWEL_MCP_USERS sets how many users the largest run has.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections import defaultdict
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.plugins.mcp.talks import Make, in_a_loop

from newel.mcp.sessions import MCPSessionManager
from newel.mcp.settings import Settings

USERS = int(os.environ.get("NEWEL_MCP_USERS", "40"))


async def call_as(toolset: Any, user: str, limits: Settings) -> None:
    manager: MCPSessionManager = toolset._manager
    async with manager.lease({"x-user": user}, limits) as connection:
        result = await connection.call("whoami", {})
        assert result.structured_content["user"] == user
    assert len(manager.pool) <= limits.max_sessions


def crossed(seen: list[dict[str, Any]]) -> dict[str, set[str]]:
    """The users whose headers came with each session, where there is more than one."""
    users: dict[str, set[str]] = defaultdict(set)
    for request in seen:
        if session := request["headers"].get("mcp-session-id"):
            users[session].add(request["headers"].get("x-user"))
    assert users
    return {session: names for session, names in users.items() if len(names) > 1}


@in_a_loop
async def test_many_users_share_few_sessions_and_no_header(site: Make, http: Make) -> None:
    served, limits = site(), Settings(max_sessions=64 if USERS > 100 else 8)
    toolset = http(served, timeout=60)
    order = [f"u{number}" for number in range(USERS)] * 2
    random.Random(7).shuffle(order)
    gate = asyncio.Semaphore(30)

    async def one(user: str) -> None:
        async with gate:
            await call_as(toolset, user, limits)

    await asyncio.gather(*map(one, order))
    assert len(toolset._manager.pool) == min(USERS, limits.max_sessions)
    await toolset.close()
    assert not len(toolset._manager.pool)
    assert not crossed(served.seen)
    opened = {request["headers"].get("mcp-session-id") for request in served.seen} - {None}
    ended = [request["headers"]["mcp-session-id"] for request in served.seen if request["method"] == "DELETE"]
    assert sorted(ended) == sorted(opened)


def test_whoever_calls_when_no_header_is_crossed(site: Make, http: Make) -> None:
    served = site()

    @settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        st.lists(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=4), min_size=1, max_size=4), st.integers(1, 4)
    )
    def check(waves: list[list[str]], most: int) -> None:
        async def main() -> None:
            toolset = http(served, timeout=60)
            for wave in waves:
                await asyncio.gather(*(call_as(toolset, user, Settings(max_sessions=1 + most % 4)) for user in wave))
            await toolset.close()

        asyncio.run(main())

    check()
    assert not crossed(served.seen)


@in_a_loop
async def test_a_session_that_nobody_uses_ends(site: Make, http: Make) -> None:
    served = site()
    toolset = http(served)
    await call_as(toolset, "ann", Settings(idle_seconds=0.2))
    assert len(toolset._manager.pool) == 1
    for _ in range(100):
        if not len(toolset._manager.pool):
            break
        await asyncio.sleep(0.05)
    assert [request["method"] for request in served.seen].count("DELETE") == 1
    await toolset.close()
