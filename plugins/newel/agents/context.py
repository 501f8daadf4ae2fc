"""The context of callbacks, tools and nodes."""

from newel_kernel.context import Context

__all__ = ["Context"]
