"""The contract of an artifact store beyond google-adk's: what is stored, one version deleted, what a crash left."""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple

from newel.artifacts.base_artifact_service import BaseArtifactService


class StoredVersion(NamedTuple):
    """A version of an artifact and whose it is; `session_id` is None where it is the user's own."""

    user_id: str
    session_id: str | None
    filename: str
    version: int
    #: Seconds since the epoch.
    create_time: float


class ArtifactStore(BaseArtifactService):
    """An artifact store with all that newel can use of one."""

    @abstractmethod
    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Delete every artifact of a session; those of its user stay."""

    @abstractmethod
    async def delete_version(
        self, *, app_name: str, user_id: str, filename: str, version: int, session_id: str | None = None
    ) -> None:
        """Delete one version; the others keep their numbers."""

    @abstractmethod
    async def stored(self, *, app_name: str) -> list[StoredVersion]:
        """Every version of an app's artifacts, in no order."""

    @abstractmethod
    async def leftovers(self, *, app_name: str, before: float, delete: bool) -> list[str]:
        """What saves and deletions left half-done before a time (seconds since the epoch), deleted where asked.

        Nothing of it was ever seen as an artifact.
        """

    async def close(self) -> None:
        """Release what the store holds."""
