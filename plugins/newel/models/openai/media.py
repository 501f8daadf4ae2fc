"""Media: the content of parts other than text, in the forms that the protocols can carry."""

from __future__ import annotations

import base64
import mimetypes
from dataclasses import dataclass

from newel_types import FunctionResponsePart, Part

_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_SPELT = {
    "image/jpg": "image/jpeg",
    "audio/mpeg": "audio/mp3",
    "audio/x-wav": "audio/wav",
    "audio/wave": "audio/wav",
    "audio/vnd.wave": "audio/wav",
    "audio/x-mp3": "audio/mp3",
    "application/x-pdf": "application/pdf",
}
#: Texts whose type does not say so.
_TEXTS = (
    "application/json",
    "application/xml",
    "application/javascript",
    "application/x-yaml",
    "application/yaml",
    "application/x-sh",
    "application/sql",
    "application/toml",
)


@dataclass(frozen=True, slots=True)
class Medium:
    """Inline bytes or a URI, of one MIME type."""

    mime: str
    data: bytes | None
    uri: str | None
    name: str | None

    @property
    def kind(self) -> str:
        """``image``, ``pdf``, ``audio``, ``text``, ``video`` or another one, which no protocol carries."""
        if self.mime == "application/pdf":
            return "pdf"
        if self.mime.startswith("text/") or self.mime in _TEXTS or self.mime.endswith(("+json", "+xml")):
            return "text"
        family = self.mime.partition("/")[0]
        return "file" if family == "application" else family

    @property
    def is_image(self) -> bool:
        """Whether it is an image that OpenAI's models read: any type by its URL, four types inline."""
        return self.kind == "image" and (self.mime in _IMAGES if self.data is not None else self.on_web)

    @property
    def on_web(self) -> bool:
        """Whether the service can fetch it."""
        return bool(self.uri) and (self.uri or "").startswith(("https://", "http://"))

    @property
    def file_id(self) -> str | None:
        """The id of a file that was uploaded to OpenAI."""
        return self.uri if self.uri and self.uri.startswith("file-") else None

    @property
    def base64(self) -> str:
        """The inline bytes, encoded."""
        return base64.b64encode(self.data or b"").decode()

    @property
    def data_url(self) -> str:
        """The inline bytes as a URL."""
        return f"data:{self.mime};base64,{self.base64}"

    @property
    def file_name(self) -> str:
        """A name for the file; services insist on one."""
        return self.name or f"document{mimetypes.guess_extension(self.mime) or ''}"

    @property
    def text(self) -> str | None:
        """The text of a text file; None if it is not a text file, or not UTF-8."""
        if self.kind != "text" or self.data is None:
            return None
        try:
            words = self.data.decode()
        except UnicodeDecodeError:
            return None
        return f"{self.name}:\n{words}" if self.name else words

    @property
    def left_out(self) -> str:
        """The text that replaces it in the conversation if it cannot be sent."""
        return f"[{self.mime}{f' {self.name}' if self.name else ''}: left out, this model cannot read it]"


def medium_of(part: Part | FunctionResponsePart) -> Medium | None:
    """The medium that a part holds."""
    blob = part.inline_data
    if blob is not None:
        return Medium(_mime(blob.mime_type), blob.data or b"", None, blob.display_name)
    file = part.file_data
    if file is None:
        return None
    uri = file.file_uri or ""
    mime = file.mime_type or mimetypes.guess_type(uri.partition("?")[0])[0]
    return Medium(_mime(mime), None, uri, file.display_name)


def _mime(text: str | None) -> str:
    mime = (text or "application/octet-stream").partition(";")[0].strip().lower()
    return _SPELT.get(mime, mime)
