"""Foreign text: what a document says of its operations, without what a reader cannot see, and within bounds."""

from __future__ import annotations

from newel.events.text import shortened, without_invisible

#: The most characters of a description.
MOST = 4_000


def cleaned(text: object, most: int = MOST) -> str:
    """`text` without invisible characters, at most `most` of it; anything but a text is empty."""
    return shortened(without_invisible(text), most) if isinstance(text, str) else ""
