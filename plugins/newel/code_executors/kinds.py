"""The kind `CodeExecutor`."""

from __future__ import annotations

from newel_compose import Factory


class CodeExecutor(Factory):
    """`create` gives a BaseCodeExecutor."""
