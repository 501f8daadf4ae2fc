"""The contract of an artifact store."""

from newel_kernel.contracts.services import ArtifactVersion, BaseArtifactService

__all__ = ["ArtifactVersion", "BaseArtifactService"]
