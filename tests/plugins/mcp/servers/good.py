"""A server made with the official SDK: stdio, or --http PORT.

GET /_seen tells of the requests, POST /_forget ends the sessions.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import os
from typing import Any

from mcp.server.mcpserver import Context, Image, MCPServer
from pydantic import BaseModel

parser = argparse.ArgumentParser()
parser.add_argument("--http", type=int)
parser.add_argument("--token")
parser.add_argument("--issuer", help="serve who sends one of its tokens, and say where to get one")
parser.add_argument("--old", action="store_true", help="say it as servers did before 2025-06-18")
parser.add_argument("--marks")
arguments = parser.parse_args()
server = MCPServer("good", instructions="Notes.")
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQECoc+PWwAAAABJRU5ErkJggg=="
)


def mark(text: str) -> None:
    if arguments.marks:
        with open(arguments.marks, "a") as file:
            file.write(text + "\n")


class Weather(BaseModel):
    city: str
    celsius: float


@server.tool()
def echo(text: str) -> str:
    """Echoes the text."""
    return text


@server.tool()
def effect(key: str) -> str:
    """Has an effect."""
    mark(f"effect {key}")
    return "done"


@server.tool()
def weather(city: str) -> Weather:
    """The weather."""
    return Weather(city=city, celsius=21.5)


@server.tool(structured_output=False)
def picture() -> Any:
    """A picture and a text."""
    return [Image(data=PIXEL, format="png"), "and a text"]


@server.tool()
def fails() -> str:
    """Fails."""
    raise ValueError("it failed")


@server.tool()
async def slow(seconds: float, key: str, ctx: Context[Any, Any]) -> str:
    """Sleeps, with progress."""
    mark(f"begins {key}")
    try:
        for step in range(4):
            await ctx.report_progress(step + 1, 4, f"step {step + 1}")
            await asyncio.sleep(seconds / 4)
    except asyncio.CancelledError:
        mark(f"cancelled {key}")
        raise
    mark(f"ends {key}")
    return key


class Wanted(BaseModel):
    size: str


@server.tool()
async def order(item: str, ctx: Context[Any, Any]) -> str:
    """Asks for the size."""
    answer = await ctx.elicit(f"Which size of {item}?", Wanted)
    return f"{answer.action} {answer.data.size if answer.action == 'accept' else ''}".strip()


@server.tool()
async def grow(ctx: Context[Any, Any]) -> str:
    """Adds a tool."""

    def grown(text: str) -> str:
        """Came later."""
        return text

    server.add_tool(grown)
    await ctx.notify_tools_changed()
    return "grown"


@server.tool()
async def whoami(ctx: Context[Any, Any]) -> dict[str, Any]:
    """The headers of the call."""
    request = getattr(ctx.request_context, "request", None)
    headers = dict(request.headers) if request else {}
    return {"user": headers.get("x-user"), "pid": os.getpid()}


@server.resource("note://1", mime_type="text/plain")
def note() -> str:
    """The first note."""
    return "a note"


@server.resource("blob://1", mime_type="image/png")
def blob() -> bytes:
    """A picture."""
    return PIXEL


@server.prompt()
def review(code: str, style: str = "short") -> str:
    """Reviews code."""
    return f"Review ({style}): {code}"


def app() -> Any:  # noqa: C901 - a few routes
    from starlette.responses import JSONResponse

    seen: list[dict[str, Any]] = []
    revoked: set[str] = set()
    narrow: set[str] = set()  # tokens that do not cover what is asked for any more
    inner = server.streamable_http_app()

    def is_known(token: str) -> bool:
        if arguments.issuer:
            return token.startswith("Bearer access-") and token not in revoked
        return not arguments.token or token == f"Bearer {arguments.token}"

    async def reply(path: str, headers: dict[str, str]) -> Any:  # noqa: C901 - a few routes
        """What is answered instead of the server, if anything."""
        if path == "/_seen":
            return JSONResponse(seen)
        if path == "/_forget":
            for transport in list(server.session_manager._server_instances.values()):
                await transport.terminate()
            return JSONResponse("ok")
        if path == "/_narrow":
            narrow.update(one["headers"].get("authorization", "") for one in seen)
            return JSONResponse("ok")
        if path == "/_revoke":
            revoked.update(one["headers"].get("authorization", "") for one in seen)
            return JSONResponse("ok")
        if path == "/.well-known/oauth-authorization-server" and arguments.old:
            ends = {"authorization_endpoint": f"{arguments.issuer}/auth", "token_endpoint": f"{arguments.issuer}/token"}
            return JSONResponse({"issuer": f"http://{headers['host']}", **ends})
        if path.startswith("/.well-known/") and arguments.old:
            return JSONResponse({}, 404)
        if path == "/.well-known/oauth-protected-resource/mcp" and arguments.issuer:
            resource = f"http://{headers['host']}/mcp"
            about = {"resource": resource, "authorization_servers": [arguments.issuer], "scopes_supported": ["notes"]}
            return JSONResponse(about)
        if not is_known(headers.get("authorization", "")):
            challenge = {"WWW-Authenticate": 'Bearer error="invalid_token"'}
            return JSONResponse({"error": "invalid_token"}, 401, headers=challenge)
        if headers.get("authorization", "") in narrow:
            challenge = {"WWW-Authenticate": 'Bearer error="insufficient_scope", scope="write"'}
            return JSONResponse({"error": "insufficient_scope"}, 403, headers=challenge)
        return None

    async def outer(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = {k.decode(): v.decode() for k, v in scope["headers"]}
            if (answer := await reply(scope["path"], headers)) is not None:
                await answer(scope, receive, send)
                return
            seen.append({"method": scope["method"], "path": scope["path"], "headers": headers})
        await inner(scope, receive, send)

    return outer


if arguments.http:
    import uvicorn

    uvicorn.run(app(), host="127.0.0.1", port=arguments.http, log_level="error")
else:
    server.run("stdio")
