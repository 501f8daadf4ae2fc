"""The plugin of artifacts in Google Cloud Storage: ``gs://bucket/prefix``, with ``?project=`` if it is needed."""

from __future__ import annotations

from newel import artifacts
from newel.artifacts.bucket_uri import bucket_of
from newel.artifacts.kinds import ArtifactBackend
from newel_kernel import hookimpl


def open_store(uri: str) -> artifacts.BaseArtifactService:
    """The store in the bucket that `uri` names."""
    bucket, prefix, options = bucket_of(uri, {"project": "project"})
    return artifacts.GcsArtifactService(bucket, prefix=prefix, **options)


@hookimpl
def register_artifact_backends() -> list[ArtifactBackend]:
    """The scheme ``gs``; the SDK is imported when a store is opened."""
    return [ArtifactBackend(name="gs", open=open_store)]
