"""The kind `ArtifactBackend`."""

from __future__ import annotations

from typing import ClassVar

from newel.artifacts.base_artifact_service import BaseArtifactService
from newel_compose import Backend


class ArtifactBackend(Backend[BaseArtifactService]):
    """Opens an artifact store from a URI of the scheme `name`."""

    service: ClassVar[str] = "artifact"
