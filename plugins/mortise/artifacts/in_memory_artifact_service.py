"""InMemoryArtifactService: artifacts in this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mortise_kernel import seam
from mortise_kernel.contracts.services import ArtifactVersion, BaseArtifactService
from mortise_kernel.types.content import Part
from mortise_kernel.types.hot import coerce

_Key = tuple[str, str, str, str]


class InMemoryArtifactService(BaseArtifactService):
    """Versions of artifacts by app, user, session and file name."""

    def __init__(self) -> None:
        self._versions: dict[_Key, list[tuple[Part, ArtifactVersion]]] = {}

    @staticmethod
    def _key(app_name: str, user_id: str, session_id: str | None, filename: str) -> _Key:
        if filename.startswith("user:"):
            return app_name, user_id, "user", filename
        if session_id is None:
            raise ValueError(f"the artifact {filename!r} belongs to a session: pass session_id, or name it user:...")
        return app_name, user_id, session_id, filename

    async def save_artifact(
        self, *, app_name: str, user_id: str, filename: str, artifact: Part, session_id: str | None = None,
        custom_metadata: Mapping[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Store a new version."""
        part = coerce(Part, artifact).model_copy(deep=True)
        versions = self._versions.setdefault(self._key(app_name, user_id, session_id, filename), [])
        number = len(versions)
        blob = part.inline_data
        versions.append((part, ArtifactVersion(
            version=number,
            canonical_uri=f"memory://apps/{app_name}/users/{user_id}/sessions/{session_id}/artifacts/{filename}/versions/{number}",
            custom_metadata=dict(custom_metadata or {}),
            create_time=seam.clock(),
            mime_type=blob.mime_type if blob is not None else ("text/plain" if part.text is not None else None),
        )))  # fmt: skip
        return number

    async def load_artifact(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None,
        version: int | None = None,
    ) -> Part | None:  # fmt: skip
        """A copy of a version, or None."""
        entry = self._entry(self._key(app_name, user_id, session_id, filename), version)
        return None if entry is None else entry[0].model_copy(deep=True)

    def _entry(self, key: _Key, version: int | None) -> tuple[Part, ArtifactVersion] | None:
        versions = self._versions.get(key)
        number = len(versions) - 1 if versions and version is None else version
        return versions[number] if versions and number is not None and 0 <= number < len(versions) else None

    async def list_artifact_keys(self, *, app_name: str, user_id: str, session_id: str | None = None) -> list[str]:
        """The names of the session's and of the user's artifacts."""
        scopes = {(app_name, user_id, "user")} | ({(app_name, user_id, session_id)} if session_id else set())
        return sorted(key[3] for key in self._versions if key[:3] in scopes)

    async def delete_artifact(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> None:
        """Forget every version."""
        self._versions.pop(self._key(app_name, user_id, session_id, filename), None)

    async def list_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[int]:
        """The version numbers."""
        return list(range(len(self._versions.get(self._key(app_name, user_id, session_id, filename), []))))

    async def get_artifact_version(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None,
        version: int | None = None,
    ) -> ArtifactVersion | None:  # fmt: skip
        """What is known of a version."""
        entry = self._entry(self._key(app_name, user_id, session_id, filename), version)
        return None if entry is None else entry[1]
