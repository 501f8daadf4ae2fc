"""The web UI: adk-web's bundle, which lies in an installed google-adk. Without one, the page of documentation."""

from __future__ import annotations

import mimetypes
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from starlette.responses import FileResponse, RedirectResponse, Response

from newel.server.calls import Call
from newel.server.refusals import Refusal

_BUNDLE = Path("cli", "browser")
#: What the operating system's table of types may have wrong.
_TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".html": "text/html"}


async def root(call: Call) -> Response:
    """Lead to the web UI."""
    place = "/dev-ui/" if bundle() is not None else "/docs"
    return RedirectResponse(f"{_prefix(call)}{place}", 307)


async def dev_ui(call: Call) -> Response:
    """The page of the web UI."""
    if bundle() is None:
        return RedirectResponse(f"{_prefix(call)}/docs", 307)
    return RedirectResponse(f"{_prefix(call)}/dev-ui/", 307)


async def index(_: Call) -> Response:
    """The page of the web UI."""
    return _file("index.html")


async def asset(call: Call) -> Response:
    """A file of the web UI."""
    return _file(call.path["name"])


async def runtime_config(call: Call) -> object:
    """Where the web UI finds this server."""
    return {"backendUrl": _prefix(call)}


async def ui_config(_: Call) -> object:
    """How the web UI looks."""
    return {"logo_text": None, "logo_image_url": None}


async def telemetry_config(_: Call) -> object:
    """What is sent to others: nothing."""
    return {"enabled": False}


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


def _file(name: str) -> Response:
    folder = bundle()
    if folder is None:
        raise Refusal(404, "there is no web UI: pip install google-adk, whose bundle is served")
    file = (folder / name).resolve()
    if not file.is_relative_to(folder.resolve()) or not file.is_file():
        raise Refusal(404, "Not Found")
    media_type = _TYPES.get(file.suffix) or mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    return FileResponse(file, media_type=media_type)


def _prefix(call: Call) -> str:
    """The prefix under which the app is mounted."""
    return str(call.request.scope.get("root_path", ""))
