"""Export: a stored session as one page that opens from disk. It asks nothing of anybody, and changes nothing."""

from __future__ import annotations

import gzip
import posixpath
import re
from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from hashlib import blake2b
from importlib.resources import files
from typing import Any
from urllib.parse import quote, urlencode

from pydantic_core import from_json, to_json

from newel.server.application import Application
from newel.server.kinds import Route
from newel.server.places import Place
from newel.version import VERSION
from newel.web.files import IMPORT, names
from newel.web.kinds import Redaction
from newel_kernel import ConfigurationError, Json, NewelError, brief, seam

#: The most bytes of a page.
MOST = 1_000_000
#: How many characters of each text are kept: the first number with which the page is small enough.
_LIMITS = (48_000, 16_000, 4_000, 1_000, 250)
#: A file is kept if it has at most so many times the characters of a text.
_FILES = 4
#: The modules that no page of its own needs.
_LEFT_OUT = ("js/theme.js", "js/loader.js", "js/panels/evaluation.js", "js/panels/compare.js", "js/panels/memory.js")
_PARAMETER = re.compile(r"\{(\w+)(?::path)?\}")
_PAGE_OF_SUMMARIES = 500
_POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}' 'strict-dynamic'; style-src 'unsafe-inline'; img-src data: blob:; "
    "media-src data: blob:; base-uri 'none'; form-action 'none'"
)
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>newel</title>
<style>{sheets}</style>
<script nonce="{nonce}">{theme}</script>
</head>
<body>
<div id="page"></div>
<noscript>This page needs JavaScript. It asks nothing of the network.</noscript>
<script type="text/plain" id="session">{session}</script>
<script type="text/plain" id="modules">{modules}</script>
<script nonce="{nonce}">{loader}</script>
</body>
</html>
"""


async def exported(app: Application, place: Place) -> bytes:
    """The page of a session, at most `MOST` bytes; ConfigurationError if it cannot be so small.

    Plugins that redact have masked all of it. Long texts and large files are cut, and say so.
    """
    held = await _gathered(app, place)
    owned = app.state.composition.registry.owned(Redaction)
    for one in owned.values():
        try:
            held = one.item.redact(held)
        except Exception as error:
            raise NewelError(f"the redaction of the plugin {one.plugin!r} ({one.source}) failed: {error!r}") from error
    modules = _packed(_modules())
    for limit in _LIMITS:
        cutter = _Cutter(limit)
        session = cutter.cut(held)
        page = _page(_packed({**session, "note": _note(sorted(owned), cutter.count)}), modules)
        if len(page) <= MOST:
            return page
    raise ConfigurationError(
        f"the page of the session {brief(place['session_id'])!r} would have {len(page):,} bytes with each text cut to "
        f"{limit} characters, and a page has at most {MOST:,}: write it with `newel sessions export`, and look at that "
        f"file with `newel web FILE`"
    )


async def _gathered(app: Application, place: Place) -> Json:
    """What the page shows of the session, as the API answers it."""
    asked = _Asked(app, place)
    names_: list[str] = await asked("list_artifacts")
    return {
        "session": await asked("get_session"),
        "spans": await asked("trace_of_session", query={"user_id": place["user_id"]}),
        "questions": await asked("list_questions"),
        "summary": await _summary(asked, place["session_id"]),
        "artifacts": {name: await _artifact(asked, name) for name in names_},
    }


async def _summary(asked: _Asked, session_id: str) -> Json:
    offset = 0
    while True:
        query = {"limit": _PAGE_OF_SUMMARIES, "offset": offset, "cases": True}
        page = await asked("list_session_summaries", query=query)
        for one in page["sessions"]:
            if one["id"] == session_id:
                return dict(one)
        offset += _PAGE_OF_SUMMARIES
        if offset >= page["total"]:
            raise ConfigurationError(f"the session {brief(session_id)!r} was deleted while it was read")


async def _artifact(asked: _Asked, name: str) -> Json:
    versions = await asked("list_artifact_metadata", artifact_name=name)
    numbers = [one["version"] for one in versions]
    parts = {str(n): await asked("load_artifact_version", artifact_name=name, version_id=str(n)) for n in numbers}
    return {"versions": versions, "parts": parts}


class _Asked:
    """Asks the API of an app in this process, about one session."""

    def __init__(self, app: Application, place: Place) -> None:
        self._app = app
        self._place = place
        self._paths = {route.name: route.path for route in app.state.composition.registry.all(Route)}

    async def __call__(self, route: str, *, query: Mapping[str, object] | None = None, **values: str) -> Any:
        """The answer of a route, by its name."""
        given: dict[str, str] = {**self._place, **values}  # type: ignore[dict-item]  # a Place has texts
        path = _PARAMETER.sub(lambda match: quote(given[match[1]], safe=""), self._paths[route])
        status, body = await _get(self._app, path, urlencode(query or {}))
        if status != 200:
            raise ConfigurationError(f"the session cannot be read ({status}): {body.decode(errors='replace')[:500]}")
        return from_json(body)


async def _get(app: Application, path: str, query: str) -> tuple[int, bytes]:
    status, body = 0, bytearray()

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        nonlocal status
        status = message.get("status", status)
        body.extend(message.get("body", b""))

    scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": query.encode()}
    await app({**scope, "headers": [], "scheme": "http", "root_path": "", "http_version": "1.1"}, receive, send)
    return status, bytes(body)


class _Cutter:
    """Cuts texts and files that are long; `count` says how many."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.count = 0

    def cut(self, value: Any) -> Any:
        """The value with its texts cut."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, list):
            return [self.cut(one) for one in value]
        if not isinstance(value, dict):
            return value
        file = value.get("inlineData")
        if isinstance(file, dict) and isinstance(file.get("data"), str):
            return self._file(value, file)
        return {name: self.cut(one) for name, one in value.items()}

    def _text(self, text: str) -> str:
        if len(text) <= self._most:
            return text
        self.count += 1
        return f"{text[: self._most]}… (cut: {len(text) - self._most:,} more characters are not in this page)"

    def _file(self, part: Json, file: Json) -> Json:
        size = len(file["data"])
        if size <= _FILES * self._most:
            return part
        self.count += 1
        kind = file.get("mimeType") or "a file"
        return {"text": f"(cut: {kind} of {size * 3 // 4:,} bytes is not in this page)"}


def _note(redactions: list[str], cuts: int) -> str:
    """What the page says of itself."""
    now = datetime.fromtimestamp(seam.clock(), UTC)
    said = [
        f"This page holds one session as it was stored on {now.day} {now:%B %Y, %H:%M} UTC (newel {VERSION}), and asks "
        f"no server."
    ]
    if redactions:
        said.append(f"Masked by {', '.join(redactions)}.")
    if cuts:
        said.append(f"Long texts and files that are cut, and say so: {cuts:,}.")
    return " ".join(said)


def _modules() -> dict[str, str]:
    """The modules of the page by the names under which they import each other."""
    found = (name for name in sorted(names()) if name.endswith(".js") and name not in _LEFT_OUT)
    return {f"newel/{name}": IMPORT.sub(partial(_named, posixpath.dirname(name)), _static(name)) for name in found}


def _named(folder: str, found: re.Match[str]) -> str:
    """The import of a module by its name in place of its path."""
    return f'{found[1]}"newel/{posixpath.normpath(posixpath.join(folder, found[2]))}"'


def _page(session: str, modules: str) -> bytes:
    # What a session holds cannot know the nonce, which depends on all of it: no text of it becomes a script.
    nonce = blake2b(f"{session}{modules}".encode(), digest_size=16).hexdigest()
    return _PAGE.format(
        policy=_POLICY.format(nonce=nonce),
        nonce=nonce,
        sheets=_static("tokens.css") + _static("style.css"),
        theme=_static("js/theme.js"),
        loader=_static("js/loader.js"),
        session=session,
        modules=modules,
    ).encode()


def _packed(value: Any) -> str:
    """The value as letters that end no element: JSON, compressed, in base64."""
    return b64encode(gzip.compress(to_json(value, inf_nan_mode="null"), mtime=0)).decode()


def _static(name: str) -> str:
    return (files("newel.web") / "static" / name).read_text(encoding="utf-8")
