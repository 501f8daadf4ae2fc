"""The context of code that only reads."""

from newel_kernel import ReadonlyContext

__all__ = ["ReadonlyContext"]
