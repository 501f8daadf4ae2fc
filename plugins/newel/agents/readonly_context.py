"""The context of code that only reads."""

from newel_kernel.context import ReadonlyContext

__all__ = ["ReadonlyContext"]
