"""The description of the server: OpenAPI, and a page that shows it."""

from __future__ import annotations

from html import escape
from typing import Any

from starlette.responses import HTMLResponse

from newel.server.calls import Call, endpoint
from newel.server.openapi import described, endpoints_of
from newel_kernel import Key

#: The description is the same for all, and to make one holds everybody for a fifth of a second.
_DESCRIPTION: Key[dict[str, Any]] = Key("description")
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "code{font-family:ui-monospace,monospace}dt{margin-top:1rem}dd{margin-left:2rem}"
    "@media(prefers-color-scheme:dark){body{background:#111;color:#eee}a{color:#8cf}}"
)


@endpoint(answer=dict[str, Any])
async def openapi(call: Call) -> object:
    """This description, as OpenAPI 3.1."""
    stash = call.server.stash
    if _DESCRIPTION not in stash:
        stash[_DESCRIPTION] = described(call.server.routes)
    return stash[_DESCRIPTION]


@endpoint(media_type="text/html")
async def docs(call: Call) -> HTMLResponse:
    """This description, as a page."""
    rows = "".join(
        f"<dt><code>{escape(route.method)} {escape(route.path)}</code></dt><dd>{escape(found.text)}</dd>"
        for route, found in endpoints_of(call.server.routes)
    )
    return HTMLResponse(
        f"<!doctype html><html lang=en><meta charset=utf-8><title>newel API</title><style>{_STYLE}</style>"
        f"<h1>newel API</h1><p>Types: <a href=openapi.json>openapi.json</a></p><dl>{rows}</dl></html>"
    )
