"""The plugin of artifacts in S3: ``s3://bucket/prefix``, with ``?region=`` and ``?endpoint=`` if they are needed."""

from __future__ import annotations

from newel import artifacts
from newel.artifacts.bucket_uri import bucket_of
from newel.artifacts.kinds import ArtifactBackend
from newel_kernel import hookimpl

_PARAMETERS = {"region": "region_name", "endpoint": "endpoint_url"}


def open_store(uri: str) -> artifacts.BaseArtifactService:
    """The store in the bucket that `uri` names."""
    bucket, prefix, options = bucket_of(uri, _PARAMETERS)
    return artifacts.S3ArtifactService(bucket, prefix=prefix, **options)


@hookimpl
def register_artifact_backends() -> list[ArtifactBackend]:
    """The scheme ``s3``; the SDK is imported when a store is opened."""
    return [ArtifactBackend(name="s3", open=open_store)]
