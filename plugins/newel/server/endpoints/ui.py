"""The web UI: adk-web's bundle, which lies in an installed google-adk. Without one, the page of documentation."""

from __future__ import annotations

import mimetypes
import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from html import unescape
from importlib.util import find_spec
from pathlib import Path

from starlette.responses import FileResponse, RedirectResponse, Response

from newel.server.calls import Call, endpoint
from newel.server.refusals import Refusal
from newel.server.security.response_headers import policy

_BUNDLE = Path("cli", "browser")
#: The route of newel's own page.
_PAGE = "web_page"
#: What the operating system's table of types may have wrong.
_TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".html": "text/html"}
#: Where the bundle's fonts come from: its icons are letters of one.
_FONTS = "https://fonts.gstatic.com"
_HANDLER = re.compile(r'\son[a-z]+="([^"]+)"')


@endpoint(media_type="text/html")
async def root(call: Call) -> Response:
    """Lead to the web UI; without one, to adk-web's bundle or the page of documentation."""
    if any(route.name == _PAGE for route in call.server.routes):
        return RedirectResponse(f"{_prefix(call)}/web/", 307)
    place = "/dev-ui/" if call.server.options.development and bundle() is not None else "/docs"
    return RedirectResponse(f"{_prefix(call)}{place}", 307)


@endpoint(media_type="text/html")
async def dev_ui(call: Call) -> Response:
    """The page of the web UI."""
    if bundle() is None:
        return RedirectResponse(f"{_prefix(call)}/docs", 307)
    return RedirectResponse(f"{_prefix(call)}/dev-ui/", 307)


@endpoint(media_type="text/html")
async def index(_: Call) -> Response:
    """The page of the web UI."""
    return _page()


@endpoint(media_type="*/*")
async def asset(call: Call) -> Response:
    """A file of the web UI."""
    return _file(call.path["name"])


@endpoint(answer=dict[str, str])
async def runtime_config(call: Call) -> object:
    """Where the web UI finds this server."""
    return {"backendUrl": _prefix(call)}


@endpoint(answer=dict[str, str | None])
async def ui_config(_: Call) -> object:
    """How the web UI looks."""
    return {"logo_text": None, "logo_image_url": None}


@endpoint(answer=dict[str, bool])
async def telemetry_config(_: Call) -> object:
    """Whether data on its use is sent to others: it never is, whatever the page asks for."""
    return {"telemetry": False}


@cache
def bundle() -> Path | None:
    """The folder of the bundle; nothing of google-adk is imported."""
    try:
        spec = find_spec("google.adk")
    except (ImportError, ValueError):
        return None
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        folder = Path(place) / _BUNDLE
        if (folder / "index.html").is_file():
            return folder
    return None


def _page() -> FileResponse:
    page = _file("index.html")
    assert isinstance(page, FileResponse)
    page.headers["content-security-policy"] = _policy(Path(page.path).read_text(encoding="utf-8"))
    return page


def _policy(page: str) -> str:
    """What the page may load: it draws graphs by WebAssembly, and has handlers in its text."""
    hashes = [b64encode(sha256(unescape(one).encode()).digest()).decode() for one in _HANDLER.findall(page)]
    handlers = "".join(f" 'sha256-{one}'" for one in hashes)
    unsafe = " 'unsafe-hashes'" if hashes else ""
    return policy(script_src=f"'self' 'wasm-unsafe-eval'{unsafe}{handlers}", font_src=f"'self' data: {_FONTS}")


def _file(name: str) -> Response:
    folder = bundle()
    if folder is None:
        raise Refusal(404, "there is no web UI: pip install google-adk, whose bundle is served")
    file = (folder / name).resolve()
    if not file.is_relative_to(folder.resolve()) or not file.is_file():
        if file.suffix == ".css":  # adk-web names one that its wheel does not have: without an error nothing is amiss
            return Response(media_type=_TYPES[".css"])
        raise Refusal(404, "Not Found")
    media_type = _TYPES.get(file.suffix) or mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    return FileResponse(file, media_type=media_type)


def _prefix(call: Call) -> str:
    """The prefix under which the app is mounted."""
    return str(call.request.scope.get("root_path", ""))
