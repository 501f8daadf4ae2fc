"""Files of the page: read once, compressed once, and known to the browser by their hash.

The page names its files below ``~hash``, the hash of them all: a browser keeps those, and asks no more. Their plain
names are for everybody else.
"""

from __future__ import annotations

import gzip
import posixpath
import re
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from typing import NamedTuple

from starlette.responses import Response

from newel.server.calls import Call, endpoint
from newel.server.refusals import Refusal
from newel.web import panels

_TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}


#: What a module imports: `from "./name.js"`, `import("./name.js")`.
IMPORT = re.compile(r'((?:\bfrom|\bimport)\s*\(?\s*)"(\.{1,2}/[^"]+)"')
_START = "js/main.js"
_VERSIONED = re.compile(r"(?:~([0-9a-f]+)/)?(.*)", re.DOTALL)
#: The line of the page in whose place the links of its modules stand, and where it names a file.
_LINKS = "<!-- modules -->\n"
_NAMED = re.compile(r'(?<=href="|.src=")(?=[a-z])')


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
    """A file of the web UI; below the page's version also the modules of plugins, which import its own."""
    asked, name = _VERSIONED.fullmatch(call.path["name"]).groups()  # type: ignore[union-attr]  # any text fits
    if asked is not None and name.startswith("panels/"):
        return panels.module(call, name.removeprefix("panels/"))
    return _answer(call, name, is_kept=asked == version())


def _answer(call: Call, name: str, *, is_kept: bool = False) -> Response:
    found = _read(name)
    # Without the version, a browser asks each time, and is told by 304 that nothing has changed.
    caching = "private, max-age=31536000, immutable" if is_kept else "no-cache"
    headers = {"etag": found.tag, "cache-control": caching, "vary": "accept-encoding"}
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
    data = _data(name)
    if name == "index.html":
        data = _page(data.decode()).encode()
    tag = f'"{blake2b(data, digest_size=12).hexdigest()}"'
    return File(data, gzip.compress(data, mtime=0), tag, _TYPES[name.rpartition(".")[2]])


@cache
def shell() -> tuple[str, ...]:
    """The modules that the page begins with.

    Each names those it imports: without this list, a browser would learn of the last one when it has read all others.
    """
    found = [_START]
    for name in found:
        for start, path in IMPORT.findall(_data(name).decode()):
            imported = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
            if start.startswith("from") and imported not in found:
                found.append(imported)
    return tuple(found)


@cache
def version() -> str:
    """The hash of all files."""
    return blake2b(b"".join(_data(name) for name in sorted(names())), digest_size=8).hexdigest()


def _page(text: str) -> str:
    links = "".join(f'<link rel="modulepreload" href="{name}">\n' for name in shell())
    return _NAMED.sub(f"~{version()}/", text.replace(_LINKS, links))


def _data(name: str) -> bytes:
    return (files("newel.web") / "static" / name).read_bytes()
