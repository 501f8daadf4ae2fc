"""The contract of an artifact store."""

from mortise_kernel.contracts.services import ArtifactVersion, BaseArtifactService

__all__ = ["ArtifactVersion", "BaseArtifactService"]
