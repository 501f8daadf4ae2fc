"""The error of an artifact store that cannot be reached."""

from __future__ import annotations

from newel_kernel import NewelError


class ArtifactStoreUnavailableError(NewelError):
    """The store did not answer in time: cut off, overloaded or away.

    Nothing that was acknowledged is lost, and the service works again once the store does. A version that was
    being saved either exists as a whole or does not exist.
    """

    def __init__(self, message: str, *, retry_after: float = 1.0) -> None:
        super().__init__(message)
        #: In how many seconds it is worth trying again.
        self.retry_after = retry_after
