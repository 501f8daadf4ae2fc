"""The contract of an artifact store, and the metadata of a version."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from pydantic import Field

from newel_kernel import Json, seam
from newel_types import Part, WireModel


class ArtifactVersion(WireModel):
    """The metadata of one version of an artifact; `create_time` in seconds since the epoch."""

    version: int
    canonical_uri: str = ""
    custom_metadata: Json = Field(default_factory=dict)
    create_time: float = Field(default_factory=lambda: seam.clock())
    mime_type: str | None = None


class BaseArtifactService(ABC):
    """A store of versioned binary artifacts. A name that starts with ``user:`` is shared by the user's sessions."""

    @abstractmethod
    async def save_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        artifact: Part,
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> int:
        """Store a new version and return its number (the first is 0)."""

    @abstractmethod
    async def load_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> Part | None:
        """A version (the latest if `version` is None), or None."""

    @abstractmethod
    async def list_artifact_keys(self, *, app_name: str, user_id: str, session_id: str | None = None) -> list[str]:
        """The file names, sorted."""

    @abstractmethod
    async def delete_artifact(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> None:
        """Delete every version."""

    @abstractmethod
    async def list_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[int]:
        """The version numbers, ascending."""

    async def get_artifact_version(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> ArtifactVersion | None:
        """The metadata of a version, or None."""
        versions = await self.list_versions(
            app_name=app_name, user_id=user_id, filename=filename, session_id=session_id
        )
        number = versions[-1] if versions and version is None else version
        return ArtifactVersion(version=number) if number in versions and number is not None else None

    async def list_artifact_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[ArtifactVersion]:
        """The metadata of each version, ascending."""
        where = {"app_name": app_name, "user_id": user_id, "filename": filename, "session_id": session_id}
        versions = [await self.get_artifact_version(**where, version=n) for n in await self.list_versions(**where)]  # type: ignore[arg-type]
        return [version for version in versions if version is not None]
