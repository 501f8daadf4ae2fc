"""The kind `Display`."""

from __future__ import annotations

from newel_compose import Factory


class Display(Factory):
    """`create` gives, for an agent, what a notebook may show of it by MIME type.

    Its keywords `include` and `exclude` are the types to show, or to leave out; None or empty: as it likes.
    """
