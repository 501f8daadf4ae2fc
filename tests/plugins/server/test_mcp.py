"""Each app is an MCP server, too."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from newel import Agent
from newel.server.options import Options
from newel.server.security.guards import Guards
from newel.testing import ScriptedModel

_TOKEN = "0123456789abcdef0123"


def test_each_app_of_the_api_server_has_one(serve: Any) -> None:
    agent = Agent(name="clerk", model=ScriptedModel(["Good morning"] * 4))
    guards = Guards(token=_TOKEN)
    options = Options(host="127.0.0.1", guards=guards)
    client = serve(agents={"shop": agent}, options=options)
    url = f"{str(client.base_url).rstrip('/')}/apps/shop/mcp"

    async def run(mode: str) -> Any:
        async with (
            httpx2.AsyncClient(headers={"authorization": f"Bearer {_TOKEN}"}, trust_env=False) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode) as mcp,  # type: ignore[arg-type]
        ):
            return await mcp.call_tool("clerk", {"request": "hello"})

    for mode in ("legacy", "auto"):
        assert asyncio.run(run(mode)).content[0].text == "Good morning"
    assert client.post("/apps/shop/mcp", json={}).status_code == 401
    headers = {"authorization": f"Bearer {_TOKEN}"}
    assert client.post("/apps/none/mcp", json={}, headers=headers).status_code == 404
