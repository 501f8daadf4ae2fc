"""Foreign text: what a document says of its operations, without what a reader cannot see, and within bounds."""

from __future__ import annotations

import unicodedata

#: The most characters of a description.
MOST = 4_000
#: Controls, formats (bidi marks, zero widths, tags), private and half characters.
_INVISIBLE = frozenset({"Cc", "Cf", "Co", "Cs", "Cn"})


def cleaned(text: object, most: int = MOST) -> str:
    """`text` without invisible characters, at most `most` of it; anything but a text is empty."""
    if not isinstance(text, str):
        return ""
    if not text.isprintable():
        text = "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in _INVISIBLE)
    return text if len(text) <= most else f"{text[:most]}…"
