"""ArtifactPlace: where the services of a check have their artifacts, and short ways to write checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from newel.artifacts.contract import ArtifactStore
from newel.testing.store_checks import StorePlace
from newel_types import Blob, Part

MakeArtifactStore: TypeAlias = Callable[[], ArtifactStore]
ArtifactPlace: TypeAlias = StorePlace[ArtifactStore]


def binary(data: bytes = b"\x89PNG\x00") -> Part:
    """A part with data."""
    return Part(inline_data=Blob(mime_type="image/png", data=data, display_name="p.png"))
