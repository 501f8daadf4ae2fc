"""S3ArtifactService: artifacts in a bucket of S3, or of any store with its protocol and conditional writes."""

from __future__ import annotations

from typing import Any

from newel.artifacts.objects.s3 import S3Bucket
from newel.artifacts.objects.service import ObjectArtifactService


class S3ArtifactService(ObjectArtifactService):
    """Versions of artifacts in the bucket `bucket_name`, below `prefix`.

    `options` are those of botocore's `create_client`: `region_name`, `endpoint_url`, credentials (which by default come
    from the environment, AWS's files or the machine). `patience` bounds each call with its tries, `timeout` one try,
    both in seconds.
    """

    def __init__(
        self, bucket_name: str, *, prefix: str = "", patience: float = 30.0, timeout: float = 10.0, **options: Any
    ) -> None:
        super().__init__(S3Bucket(bucket_name, patience=patience, timeout=timeout, options=options), prefix)
