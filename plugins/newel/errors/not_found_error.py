"""NotFoundError."""

from newel_kernel import NewelError

__all__ = ["NotFoundError"]


class NotFoundError(NewelError):
    """The thing requested by name or id does not exist."""
