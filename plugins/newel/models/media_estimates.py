"""Media estimates: about how many tokens an image, a recording or a document has for a model.

Providers count pages, tiles and seconds, and nothing is decoded here: a PDF's own words name its pages, and seconds are
taken from the size at a usual rate. Of a file that is elsewhere nothing is known but its type.
"""

from __future__ import annotations

import re

from newel_types import Part

#: The largest image before it is scaled down.
_IMAGE = 1_600
#: A page, which Claude sees as text and image, and Gemini as one tile.
_PAGE = {"anthropic": 3_000, "gcp.gemini": 300, "gcp.vertex_ai": 300}
_OTHER_PAGE = 1_500
#: A page of a PDF that hides its pages in compressed streams, in bytes.
_PAGE_BYTES = 50_000
_PAGES = re.compile(rb"/Type\s*/Page(?![a-zA-Z])")
#: Bytes for each token: 32 tokens a second at 16 kHz; compressed sound at 64 kbit, moving pictures at 2.3 Mbit.
_BYTES = {"sound": 1_000, "audio": 250, "video": 1_000, "text": 4}
_UNCOMPRESSED = ("wav", "x-wav", "pcm", "l16")
_UNKNOWN = 1_000


def tokens_of_media(part: Part, provider: str = "") -> int:
    """About how many tokens a part without words has for models of this provider (`BaseLlm.provider_name`)."""
    blob, file = part.inline_data, part.file_data
    mime = (blob.mime_type if blob is not None else file.mime_type if file is not None else None) or ""
    kind, _, form = mime.lower().partition(";")[0].partition("/")
    data = blob.data if blob is not None else None
    if kind == "image":
        return _IMAGE
    if data is None:
        return _UNKNOWN
    if form == "pdf":
        pages = len(_PAGES.findall(data)) or 1 + len(data) // _PAGE_BYTES
        return pages * _PAGE.get(provider, _OTHER_PAGE)
    rate = _BYTES.get("sound" if kind == "audio" and form in _UNCOMPRESSED else kind)
    return _UNKNOWN if rate is None else 1 + len(data) // rate
