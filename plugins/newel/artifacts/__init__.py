"""Artifacts and their stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.artifacts.file_artifact_service import FileArtifactService as FileArtifactService
    from newel.artifacts.in_memory_artifact_service import InMemoryArtifactService as InMemoryArtifactService
    from newel.artifacts.base_artifact_service import ArtifactVersion as ArtifactVersion
    from newel.artifacts.base_artifact_service import BaseArtifactService as BaseArtifactService

_WHERE = {
    "ArtifactVersion": "newel.artifacts.base_artifact_service",
    "BaseArtifactService": "newel.artifacts.base_artifact_service",
    "FileArtifactService": "newel.artifacts.file_artifact_service",
    "InMemoryArtifactService": "newel.artifacts.in_memory_artifact_service",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
