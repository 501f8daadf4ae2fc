"""The plugin of artifacts in files: ``file:relative/folder``, ``file:/absolute/folder``, ``file:///absolute/folder``."""

from __future__ import annotations

from typing import Any

from newel import artifacts
from newel.artifacts.kinds import ArtifactBackend
from newel_kernel import hookimpl
from newel_kernel import ConfigurationError


def open_store(uri: str) -> Any:
    """The store in the folder that `uri` names; a relative one is relative to the working directory."""
    path = uri.partition(":")[2]
    if path.startswith("//"):
        host, slash, rest = path[2:].partition("/")
        if host not in ("", "localhost") or not slash:
            raise ConfigurationError(f"{uri!r} names the host {host!r}: write file:///absolute/folder or file:folder")
        path = "/" + rest
    if not path:
        raise ConfigurationError(f"{uri!r} names no folder: write file:///absolute/folder or file:folder")
    return artifacts.FileArtifactService(path)


@hookimpl
def register_artifact_backends() -> list[ArtifactBackend]:
    """The scheme ``file``."""
    return [ArtifactBackend(name="file", open=open_store)]
