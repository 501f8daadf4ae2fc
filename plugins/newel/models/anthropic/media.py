"""Media: images, PDFs and texts as blocks of a message, and notes in place of other kinds."""

from __future__ import annotations

import base64
import mimetypes
import re
from collections.abc import Callable
from typing import TypeAlias
from urllib.parse import urlsplit

from newel_kernel import Json

#: Reports once that something is left out; takes the setting or kind, and a sentence.
Report: TypeAlias = Callable[[str, str], None]

#: The first bytes of the image types that the service takes.
_IMAGES = ((b"\x89PNG", "image/png"), (b"\xff\xd8", "image/jpeg"), (b"GIF8", "image/gif"), (b"RIFF", "image/webp"))
_TEXTS = frozenset(
    (
        "application/json",
        "application/xml",
        "application/yaml",
        "application/x-yaml",
        "application/javascript",
        "application/csv",
        "application/sql",
        "application/toml",
        "image/svg+xml",
    )
)
#: Ids of Anthropic's own files.
_FILE_ID = re.compile(r"file_[A-Za-z0-9]+")


def text_block(text: str) -> Json:
    """A block of text."""
    return {"type": "text", "text": text}


def inline(
    data: bytes | None, mime_type: str | None, title: str | None, allowed: frozenset[str], report: Report
) -> Json:
    """The block of inline bytes; a text that names the kind if the model does not take it."""
    mime = _plain(mime_type)
    kind = kind_of(mime)
    if kind == "text":
        text = (data or b"").decode("utf-8", "replace")
        return _document({"type": "text", "media_type": "text/plain", "data": text}, title) if text.strip() else _empty
    if kind in allowed and data:
        encoded = base64.b64encode(data).decode("ascii")
        if kind == "pdf" and data.lstrip()[:4] == b"%PDF":
            return _document({"type": "base64", "media_type": "application/pdf", "data": encoded}, title)
        seen = next((one for start, one in _IMAGES if data.startswith(start)), None)
        if kind == "image" and seen is not None:  # the bytes decide, whatever type is declared
            return {"type": "image", "source": {"type": "base64", "media_type": seen, "data": encoded}}
    return _left_out(mime, kind, report)


def by_uri(uri: str | None, mime_type: str | None, title: str | None, allowed: frozenset[str], report: Report) -> Json:
    """The block of a file by its URI: https, or the id of one of Anthropic's files."""
    uri = uri or ""
    mime = _plain(mime_type or mimetypes.guess_type(urlsplit(uri).path)[0])
    kind = kind_of(mime)
    if _FILE_ID.fullmatch(uri):
        source = {"type": "file", "file_id": uri}
        return {"type": "image", "source": source} if kind == "image" else _document(source, title)
    if kind in ("image", "pdf") and kind in allowed and uri.startswith("https://"):
        source = {"type": "url", "url": uri}
        return {"type": "image", "source": source} if kind == "image" else _document(source, title)
    scheme = urlsplit(uri).scheme or "relative"
    report(f"{kind} by URI", f"a file of the type {mime} cannot be sent by its {scheme} URI; the URI is sent as text")
    return text_block(f"[file {uri} ({mime})]")


def kind_of(mime: str) -> str:
    """``image``, ``pdf``, ``text``, or the first part of the type: ``audio``, ``video``."""
    if mime == "application/pdf":
        return "pdf"
    if mime in _TEXTS or (mime.endswith(("+json", "+xml")) and not mime.startswith("image/")):
        return "text"
    return mime.partition("/")[0]


def _plain(mime: str | None) -> str:
    return (mime or "application/octet-stream").partition(";")[0].strip().lower()


def _document(source: Json, title: str | None) -> Json:
    return {"type": "document", "source": source, **({"title": title} if title and title.strip() else {})}


def _left_out(mime: str, kind: str, report: Report) -> Json:
    report(kind, f"{kind} of the type {mime} cannot be sent to this model; a note is sent in its place")
    return text_block(f"[{mime} left out: this model takes no such {kind}]")


#: A block without text, which is never sent.
_empty = text_block("")
