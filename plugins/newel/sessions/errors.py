"""The errors of a store that cannot be reached, and of names that no store can hold."""

from __future__ import annotations

from newel_kernel import SessionError


class StoreUnavailableError(SessionError):
    """The store did not answer in time: locked, cut off, restarting, or all its connections are in use.

    No acknowledged write is lost, and the service works again once the store does. The failed write is either absent
    or complete: appending the same event again is safe, since an id is stored once.
    """

    def __init__(self, message: str, *, retry_after: float = 1.0) -> None:
        super().__init__(message)
        #: After how many seconds it is worth trying again.
        self.retry_after = retry_after


class UnfitNameError(SessionError):
    """An app name, a user id, a session id or a state key that a store cannot hold; nothing was written."""
