"""The plugin of in-memory artifacts: the URI ``memory:``."""

from __future__ import annotations

from newel import artifacts
from newel.artifacts.kinds import ArtifactBackend
from newel_kernel import hookimpl


@hookimpl
def register_artifact_backends() -> list[ArtifactBackend]:
    """The scheme ``memory``; each opening is a separate store."""
    return [ArtifactBackend(name="memory", open=lambda uri: artifacts.InMemoryArtifactService())]
