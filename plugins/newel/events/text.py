"""Text: the text of a message, and values as text of a bounded length."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from newel_types import Content


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
