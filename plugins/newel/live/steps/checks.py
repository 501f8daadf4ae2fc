"""checks: inputs that no service could take are refused here, and the session goes on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from newel.live.losses import InvalidContentError
from newel_types import Blob, Content

if TYPE_CHECKING:
    from newel.live.contract import LiveSession
    from newel.live.kinds import Outgoing, OutStep
    from newel.models.contract import LiveCapabilities

_RATE = re.compile(r";\s*rate\s*=\s*(\d+)", re.IGNORECASE)
_IMAGES = ("image/jpeg", "image/png", "image/webp", "image/heic", "image/heif")


def make(session: LiveSession) -> OutStep:
    """The step; it remembers its verdict on a MIME type for the next piece of that type."""
    checked: set[str | None] = set()
    most, live = session.settings.blob_bytes, session.model.capabilities.live
    strict = session.settings.strict_content

    def check_blob(blob: Blob) -> None:
        size = len(blob.data or b"")
        if size > most:
            raise ValueError(
                f"a piece of {size} bytes is larger than {most}: send audio in pieces of 20 to 100 ms, or set "
                f"blob_bytes of the plugin live"
            )
        if blob.mime_type not in checked:
            _check_type(blob.mime_type, live)
            checked.add(blob.mime_type)
        if size % 2 and (blob.mime_type or "").startswith("audio/"):
            raise ValueError(f"a piece of audio holds half a sample ({size} bytes): 16-bit PCM is expected")

    def step(request: Outgoing) -> Outgoing:
        if isinstance(request, Blob):
            check_blob(request)
        elif not request.close:
            if request.content is not None:
                _check_content(request.content, InvalidContentError if strict else ValueError)
            if request.blob is not None:
                check_blob(request.blob)
        return request

    return step


def _check_type(mime_type: str | None, live: LiveCapabilities | None) -> None:
    if not mime_type:
        raise ValueError("a piece of audio has no MIME type: give mime_type='audio/pcm;rate=16000'")
    kind = mime_type.partition(";")[0].strip().lower()
    if kind.startswith("image/"):
        if live is not None and not live.images:
            raise ValueError(f"the model takes no images while the user speaks, but {mime_type!r} was sent")
        if kind not in _IMAGES:
            raise ValueError(f"the MIME type {mime_type!r} is not one of {', '.join(_IMAGES)}")
        return
    if kind not in ("audio/pcm", "audio/l16", "audio/x-raw"):
        raise ValueError(f"the MIME type {mime_type!r} is unknown: send 'audio/pcm;rate=16000' or 'image/jpeg'")
    match = _RATE.search(mime_type)
    if live is not None and match and int(match[1]) not in live.input_rates:
        rates = ", ".join(map(str, live.input_rates))
        raise ValueError(f"the model takes audio of {rates} Hz, but {match[1]} Hz was sent")


def _check_content(content: Content, error: type[ValueError]) -> None:
    if any(part.function_call is not None for part in content.parts or ()):
        raise error("a user message cannot contain function calls: send text, or function responses")
    if not content.parts:
        raise ValueError("the content has no parts: send text or at least one part")
