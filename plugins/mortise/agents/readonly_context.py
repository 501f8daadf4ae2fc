"""The context of code that only reads."""

from mortise_kernel.context import ReadonlyContext

__all__ = ["ReadonlyContext"]
