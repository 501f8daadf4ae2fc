"""The plugin of artifacts in files: ``file:relative/folder``, ``file:/absolute/folder``, ``file:///absolute/folder``."""

from __future__ import annotations

from newel import artifacts
from newel.artifacts.kinds import ArtifactBackend
from newel_compose import without_password
from newel_kernel import ConfigurationError, hookimpl


def open_store(uri: str) -> artifacts.BaseArtifactService:
    """The store in the folder that `uri` names; a relative one is relative to the working directory."""
    path, label = uri.partition(":")[2], without_password(uri)
    if path.startswith("//"):
        host, slash, rest = path[2:].partition("/")
        if host not in ("", "localhost") or not slash:
            raise ConfigurationError(f"{label!r} names a host: write file:///absolute/folder or file:folder")
        path = "/" + rest
    if not path:
        raise ConfigurationError(f"{label!r} names no folder: write file:///absolute/folder or file:folder")
    return artifacts.FileArtifactService(path)


@hookimpl
def register_artifact_backends() -> list[ArtifactBackend]:
    """The scheme ``file``."""
    return [ArtifactBackend(name="file", open=open_store)]
