"""NotFoundError."""

from newel_kernel import NewelError

__all__ = ["NotFoundError"]


class NotFoundError(NewelError):
    """What was asked for by name or id does not exist."""
