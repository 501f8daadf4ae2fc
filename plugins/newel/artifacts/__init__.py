"""Artifacts and their stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.artifacts.base_artifact_service import ArtifactVersion as ArtifactVersion
    from newel.artifacts.base_artifact_service import BaseArtifactService as BaseArtifactService
    from newel.artifacts.contract import ArtifactStore as ArtifactStore
    from newel.artifacts.contract import StoredVersion as StoredVersion
    from newel.artifacts.errors import ArtifactStoreUnavailableError as ArtifactStoreUnavailableError
    from newel.artifacts.file_artifact_service import FileArtifactService as FileArtifactService
    from newel.artifacts.gcs_artifact_service import GcsArtifactService as GcsArtifactService
    from newel.artifacts.in_memory_artifact_service import InMemoryArtifactService as InMemoryArtifactService
    from newel.artifacts.s3_artifact_service import S3ArtifactService as S3ArtifactService

_WHERE = {
    "ArtifactStore": "newel.artifacts.contract",
    "ArtifactStoreUnavailableError": "newel.artifacts.errors",
    "ArtifactVersion": "newel.artifacts.base_artifact_service",
    "BaseArtifactService": "newel.artifacts.base_artifact_service",
    "FileArtifactService": "newel.artifacts.file_artifact_service",
    "GcsArtifactService": "newel.artifacts.gcs_artifact_service",
    "InMemoryArtifactService": "newel.artifacts.in_memory_artifact_service",
    "S3ArtifactService": "newel.artifacts.s3_artifact_service",
    "StoredVersion": "newel.artifacts.contract",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
