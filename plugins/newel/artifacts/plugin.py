"""The plugin of the kind that stores artifacts."""

from __future__ import annotations

from typing import Any

from newel.artifacts import hookspecs, kinds
from newel_kernel import Kind, hookimpl


@hookimpl
def register_kinds() -> list[Kind[Any]]:
    """The stores of artifacts."""
    return [Kind(kinds.ArtifactBackend, hookspecs.register_artifact_backends)]
