"""The context of callbacks, tools and nodes."""

from newel_kernel import Context

__all__ = ["Context"]
