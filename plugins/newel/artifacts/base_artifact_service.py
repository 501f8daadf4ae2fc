"""The contract of an artifact store."""


__all__ = ["ArtifactVersion", "BaseArtifactService"]
