"""The kind `ArtifactBackend`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from newel_compose import Backend

if TYPE_CHECKING:
    from newel.artifacts.base_artifact_service import BaseArtifactService  # noqa: F401 - the class below names it


class ArtifactBackend(Backend["BaseArtifactService"]):
    """Opens an artifact store from a URI of the scheme `name`."""

    service: ClassVar[str] = "artifact"
