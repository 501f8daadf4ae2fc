"""The artifacts of a tool call's session, for an agent that runs in a session of its own."""

from __future__ import annotations

from collections.abc import Mapping

from newel.artifacts.base_artifact_service import ArtifactVersion, BaseArtifactService
from newel.contexts.context import full
from newel_kernel import Context, FeatureUnavailableError
from newel_types import Part


class ForwardedArtifacts(BaseArtifactService):
    """Reads and writes where the tool call's session does; what is saved is noted in the call's `artifact_delta`.

    It uses the tool call's app, user and session, whichever ones a caller names.
    """

    def __init__(self, context: Context) -> None:
        self._context = full(context)

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
        """Store a new version."""
        return await self._context.save_artifact(filename, artifact, custom_metadata)

    async def load_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> Part | None:
        """A version, or None."""
        return await self._context.load_artifact(filename, version)

    async def list_artifact_keys(self, *, app_name: str, user_id: str, session_id: str | None = None) -> list[str]:
        """The names."""
        return await self._context.list_artifacts()

    async def delete_artifact(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> None:
        """Delete every version."""
        await self._service.delete_artifact(**self._where, filename=filename)

    async def list_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[int]:
        """The version numbers."""
        return await self._service.list_versions(**self._where, filename=filename)

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
        metadata: ArtifactVersion | None = await self._context.get_artifact_version(filename, version)
        return metadata

    @property
    def _service(self) -> BaseArtifactService:
        service = self._context.get_invocation_context().artifact_service
        if not isinstance(service, BaseArtifactService):
            raise FeatureUnavailableError("artifact service is not initialized: pass Runner(artifact_service=...)")
        return service

    @property
    def _where(self) -> dict[str, str]:
        session = self._context.session
        return {"app_name": session.app_name, "user_id": session.user_id, "session_id": session.id}
