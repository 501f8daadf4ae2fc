"""Artifacts and their stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mortise_kernel.lazy import lazy_exports

if TYPE_CHECKING:
    from mortise.artifacts.file_artifact_service import FileArtifactService as FileArtifactService
    from mortise.artifacts.in_memory_artifact_service import InMemoryArtifactService as InMemoryArtifactService
    from mortise_kernel.contracts.services import ArtifactVersion as ArtifactVersion
    from mortise_kernel.contracts.services import BaseArtifactService as BaseArtifactService

_WHERE = {
    "ArtifactVersion": "mortise_kernel.contracts.services",
    "BaseArtifactService": "mortise_kernel.contracts.services",
    "FileArtifactService": "mortise.artifacts.file_artifact_service",
    "InMemoryArtifactService": "mortise.artifacts.in_memory_artifact_service",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
