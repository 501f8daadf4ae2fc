"""The contract of an artifact store, beyond google-adk's: all versions, the deletion of one, a crash's leftovers."""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple

from newel.artifacts.base_artifact_service import BaseArtifactService


class StoredVersion(NamedTuple):
    """A version of an artifact, and its owner; `session_id` is None if the artifact belongs to the user."""

    user_id: str
    session_id: str | None
    filename: str
    version: int
    #: Seconds since the epoch.
    create_time: float


class ArtifactStore(BaseArtifactService):
    """An artifact store with all the methods that newel can use."""

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
        """Every version of an app's artifacts, in no particular order."""

    @abstractmethod
    async def incomplete_writes(self, *, app_name: str, before: float, delete: bool) -> list[str]:
        """URIs of what saves and deletions left half-done before a time (seconds since the epoch); deleted if asked.

        None of it was ever visible as an artifact.
        """

    async def close(self) -> None:
        """Release the store's resources."""
