"""One conversation."""

from newel_kernel import Session

__all__ = ["Session"]
