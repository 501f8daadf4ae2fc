"""The error of a store that cannot be reached."""

from __future__ import annotations

from newel_kernel import SessionError


class StoreUnavailableError(SessionError):
    """The store did not answer in time: locked, cut off, restarting, or all its connections are in use.

    Nothing that was acknowledged is lost, and the service works again once the store does. What was to be written is
    not written, or stands in the store as a whole: appending the same event again is safe, for an id is stored once.
    """

    def __init__(self, message: str, *, retry_after: float = 1.0) -> None:
        super().__init__(message)
        #: In how many seconds it is worth trying again.
        self.retry_after = retry_after
