"""Artifacts and their stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_kernel.lazy import lazy_exports

if TYPE_CHECKING:
    from newel.artifacts.file_artifact_service import FileArtifactService as FileArtifactService
    from newel.artifacts.in_memory_artifact_service import InMemoryArtifactService as InMemoryArtifactService
    from newel_kernel.contracts.services import ArtifactVersion as ArtifactVersion
    from newel_kernel.contracts.services import BaseArtifactService as BaseArtifactService

_WHERE = {
    "ArtifactVersion": "newel_kernel.contracts.services",
    "BaseArtifactService": "newel_kernel.contracts.services",
    "FileArtifactService": "newel.artifacts.file_artifact_service",
    "InMemoryArtifactService": "newel.artifacts.in_memory_artifact_service",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
