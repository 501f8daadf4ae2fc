"""Files of the page: read once, compressed once, and known to the browser by their hash."""

from __future__ import annotations

import gzip
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from typing import NamedTuple

from starlette.responses import Response

from newel.server.calls import Call, endpoint
from newel.server.refusals import Refusal

_TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}


class File(NamedTuple):
    """A file as it is sent."""

    data: bytes
    compressed: bytes
    tag: str
    media_type: str


@endpoint(media_type="text/html")
async def page(call: Call) -> Response:
    """The web UI."""
    return _answer(call, "index.html")


@endpoint(media_type="*/*")
async def file(call: Call) -> Response:
    """A file of the web UI."""
    return _answer(call, call.path["name"])


def _answer(call: Call, name: str) -> Response:
    found = _read(name)
    # A browser asks each time, and is told by 304 that nothing has changed.
    headers = {"etag": found.tag, "cache-control": "no-cache", "vary": "accept-encoding"}
    if call.request.headers.get("if-none-match") == found.tag:
        return Response(status_code=304, headers=headers)
    if "gzip" not in call.request.headers.get("accept-encoding", ""):
        return Response(found.data, headers=headers, media_type=found.media_type)
    headers["content-encoding"] = "gzip"
    return Response(found.compressed, headers=headers, media_type=found.media_type)


@cache
def names() -> frozenset[str]:
    """The files of the page, by their paths below it."""
    found: set[str] = set()
    folders = [("", files("newel.web") / "static")]
    while folders:
        prefix, folder = folders.pop()
        for entry in folder.iterdir():
            if entry.is_dir():
                folders.append((f"{prefix}{entry.name}/", entry))
            elif entry.name.rpartition(".")[2] in _TYPES:
                found.add(f"{prefix}{entry.name}")
    return frozenset(found)


def _read(name: str) -> File:
    if name not in names():
        raise Refusal(404, "Not Found")
    return _file(name)


@cache
def _file(name: str) -> File:
    data = (files("newel.web") / "static" / name).read_bytes()
    tag = f'"{blake2b(data, digest_size=12).hexdigest()}"'
    return File(data, gzip.compress(data, mtime=0), tag, _TYPES[name.rpartition(".")[2]])
