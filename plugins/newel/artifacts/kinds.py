"""The kind `ArtifactBackend`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from newel_compose import Backend
from newel_kernel import Settings, hookspec

if TYPE_CHECKING:
    from newel.artifacts.base_artifact_service import BaseArtifactService  # noqa: F401 - the class below names it


class ArtifactBackend(Backend["BaseArtifactService"]):
    """Opens an artifact store from a URI of the scheme `name`."""

    service: ClassVar[str] = "artifact"


@hookspec
def register_artifact_backends(settings: Settings) -> Sequence[ArtifactBackend]:
    """Artifact stores. Opens an artifact store from a URI of its scheme.

    >>> def open_artifacts(uri):
    ...     raise NotImplementedError(uri)
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_artifact_backends(self):
    ...         return [ArtifactBackend(name="bucket", open=open_artifacts)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.registry.find(ArtifactBackend, "bucket").name
    'bucket'
    """
    return ()
