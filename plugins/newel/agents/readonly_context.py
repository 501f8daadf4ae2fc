"""The context of code that only reads."""

from newel.contexts.readonly_context import ReadonlyContext

__all__ = ["ReadonlyContext"]
