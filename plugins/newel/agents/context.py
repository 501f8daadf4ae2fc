"""The context of callbacks, tools and nodes."""

from newel.contexts.context import Context

__all__ = ["Context"]
