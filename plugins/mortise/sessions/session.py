"""One conversation."""

from mortise_kernel.session import Session

__all__ = ["Session"]
