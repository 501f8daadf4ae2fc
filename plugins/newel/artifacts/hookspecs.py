"""How plugins provide what this room declares in `kinds`."""

from __future__ import annotations

from collections.abc import Sequence

from newel.artifacts.kinds import ArtifactBackend
from newel_kernel import Settings, hookspec


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
