"""Text: the text of a message, and values as text of a bounded length."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from newel_types import Content

#: Controls, formats (bidi marks, zero widths, tags), private and half characters.
_INVISIBLE = frozenset({"Cc", "Cf", "Co", "Cs", "Cn"})
_KEPT = "\n\t"
#: They change how the character before them looks, and can spell whole texts.
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")


def text_of(content: Content | None) -> str:
    """The joined texts of a content, without thoughts; empty if it has none."""
    if content is None:
        return ""
    return "".join(part.text for part in content.parts or () if part.text and not part.thought)


def shortened(value: object, most: int) -> str:
    """`value` as text, cut to `most` characters and an ellipsis if it is longer."""
    text = str(value)
    return text if len(text) <= most else f"{text[:most]}…"


def one_line(text: object) -> str:
    """`text` without line breaks."""
    return "; ".join(line.strip() for line in str(text).splitlines() if line.strip())


def without_invisible(text: str) -> str:
    """`text` of a stranger without the characters that its reader would not see."""
    if not text.isascii():
        text = _SELECTORS.sub("", text)
    if text.isprintable():
        return text
    return "".join(c for c in text.replace("\r\n", "\n") if c in _KEPT or unicodedata.category(c) not in _INVISIBLE)
