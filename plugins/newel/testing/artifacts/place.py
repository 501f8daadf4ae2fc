"""ArtifactPlace: where the services of a check have their artifacts, and short ways to write checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from newel.artifacts.contract import ArtifactStore
from newel_types import Blob, Part

MakeArtifactStore: TypeAlias = Callable[[], ArtifactStore]


class ArtifactPlace:
    """An app of its own in the place that all services of `make` share."""

    def __init__(self, make: MakeArtifactStore, app: str) -> None:
        self._make = make
        self._open: list[ArtifactStore] = []
        self.app = app

    def service(self) -> ArtifactStore:
        """A further service; it is closed at the end."""
        self._open.append(self._make())
        return self._open[-1]

    def at(self, session_id: str | None = "s", user_id: str = "u") -> dict[str, Any]:
        """The arguments that name a session."""
        return {"app_name": self.app, "user_id": user_id, "session_id": session_id}

    async def close(self) -> None:
        """Close the services."""
        while self._open:
            await self._open.pop().close()


def binary(data: bytes = b"\x89PNG\x00") -> Part:
    """A part with data."""
    return Part(inline_data=Blob(mime_type="image/png", data=data, display_name="p.png"))
