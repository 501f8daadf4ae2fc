"""GcsArtifactService: artifacts in a bucket of Google Cloud Storage."""

from __future__ import annotations

from typing import Any

from newel.artifacts.objects.gcs import GcsBucket
from newel.artifacts.objects.service import ObjectArtifactService


class GcsArtifactService(ObjectArtifactService):
    """Versions of artifacts in the bucket `bucket_name`, below `prefix`.

    `kwargs` are those of `google.cloud.storage.Client`: `project`, `credentials` (which by default come from the
    environment or the machine). `patience` bounds each call with its tries, `timeout` one try, both in seconds.
    """

    def __init__(
        self, bucket_name: str, *, prefix: str = "", patience: float = 30.0, timeout: float = 10.0, **kwargs: Any
    ) -> None:
        super().__init__(GcsBucket(bucket_name, patience=patience, timeout=timeout, options=kwargs), prefix)
