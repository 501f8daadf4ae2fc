"""One conversation."""

from newel_kernel.session import Session

__all__ = ["Session"]
