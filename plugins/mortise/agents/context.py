"""The context of callbacks, tools and nodes."""

from mortise_kernel.context import Context

__all__ = ["Context"]
