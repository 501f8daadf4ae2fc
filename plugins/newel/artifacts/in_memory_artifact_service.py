"""InMemoryArtifactService: artifacts in this process, for tests and first steps; they end with the process."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from newel.artifacts.base_artifact_service import ArtifactVersion
from newel.artifacts.contract import ArtifactStore, StoredVersion
from newel.artifacts.stored_part import as_metadata, as_part, is_withdrawn, mime_type, scope_of
from newel_kernel import Json
from newel_types import Part

#: App, user, session (None: the user's own), file name.
_Key = tuple[str, str, str | None, str]


class InMemoryArtifactService(ArtifactStore):
    """Versions of artifacts by app, user, session and file name."""

    def __init__(self) -> None:
        self._versions: dict[_Key, dict[int, tuple[Part, ArtifactVersion]]] = {}

    async def save_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        artifact: Part | Json,
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> int:
        """Store a new version."""
        part = as_part(artifact)
        scope = scope_of(filename, session_id)
        custom = as_metadata(custom_metadata)
        versions = self._versions.setdefault((app_name, user_id, scope, filename), {})
        number = max(versions, default=-1) + 1
        app, user, session = (quote(one or "", safe="") for one in (app_name, user_id, scope))
        owner = f"apps/{app}/users/{user}" + (f"/sessions/{session}" if scope is not None else "")
        metadata = ArtifactVersion(
            version=number,
            canonical_uri=f"memory://{owner}/artifacts/{filename}/versions/{number}",
            custom_metadata=custom,
            mime_type=mime_type(part),
        )
        versions[number] = part, metadata
        return number

    async def load_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> Part | None:
        """A copy of a version, or None."""
        entry = self._entry(self._key(app_name, user_id, session_id, filename), version)
        return None if entry is None or is_withdrawn(entry[0]) else entry[0].model_copy(deep=True)

    async def list_artifact_keys(self, *, app_name: str, user_id: str, session_id: str | None = None) -> list[str]:
        """The names of the session's and of the user's artifacts."""
        return sorted(
            filename
            for app, user, scope, filename in self._versions
            if (app, user) == (app_name, user_id) and scope in (None, session_id)
        )

    async def delete_artifact(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> None:
        """Forget every version."""
        self._versions.pop(self._key(app_name, user_id, session_id, filename), None)

    async def list_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[int]:
        """The version numbers."""
        return sorted(self._versions.get(self._key(app_name, user_id, session_id, filename), ()))

    async def get_artifact_version(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> ArtifactVersion | None:
        """The metadata of a version."""
        entry = self._entry(self._key(app_name, user_id, session_id, filename), version)
        return None if entry is None else entry[1].model_copy(deep=True)

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Forget a session's artifacts."""
        for key in [key for key in self._versions if key[:3] == (app_name, user_id, session_id)]:
            del self._versions[key]

    async def delete_version(
        self, *, app_name: str, user_id: str, filename: str, version: int, session_id: str | None = None
    ) -> None:
        """Forget one version."""
        key = self._key(app_name, user_id, session_id, filename)
        versions = self._versions.get(key, {})
        versions.pop(version, None)
        if not versions:
            self._versions.pop(key, None)

    async def stored(self, *, app_name: str) -> list[StoredVersion]:
        """Every version of an app's artifacts."""
        return [
            StoredVersion(user, session, filename, number, metadata.create_time)
            for (app, user, session, filename), versions in self._versions.items()
            if app == app_name
            for number, (_, metadata) in versions.items()
        ]

    async def incomplete_writes(self, *, app_name: str, before: float, delete: bool) -> list[str]:
        """Nothing is ever half-done here."""
        return []

    @staticmethod
    def _key(app_name: str, user_id: str, session_id: str | None, filename: str) -> _Key:
        return app_name, user_id, scope_of(filename, session_id), filename

    def _entry(self, key: _Key, version: int | None) -> tuple[Part, ArtifactVersion] | None:
        versions = self._versions.get(key, {})
        return versions.get(max(versions, default=-1) if version is None else version)
