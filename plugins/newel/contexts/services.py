"""Services: the methods that contexts need of a runner's stores, apart from its session store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from newel_kernel import Event, Session
    from newel_types import AuthConfig, AuthCredential, Part


class ArtifactService(Protocol):
    """Keeps versions of binary artifacts."""

    async def save_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        artifact: Part,
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> int:
        """Store a new version and return its number."""

    async def load_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> Part | None:
        """A version (the latest if `version` is None), or None."""

    async def list_artifact_keys(self, *, app_name: str, user_id: str, session_id: str | None = None) -> list[str]:
        """The names of the session's artifacts, the user's included."""

    async def get_artifact_version(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> Any:
        """A version without its data, or None."""


class MemoryService(Protocol):
    """Remembers the contents of users' sessions."""

    async def add_session_to_memory(self, session: Session) -> None:
        """Remember a session."""

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> Any:
        """The memories that match `query`."""

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember a few events."""

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[object],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember given entries."""


class CredentialService(Protocol):
    """Keeps users' credentials."""

    async def load_credential(self, auth_config: AuthConfig, callback_context: object) -> AuthCredential | None:
        """The credential saved for `auth_config`, or None."""

    async def save_credential(self, auth_config: AuthConfig, callback_context: object) -> None:
        """Save the exchanged credential of `auth_config`."""


class ResumabilityConfig(Protocol):
    """Whether an app's invocations pause and resume."""

    @property
    def is_resumable(self) -> bool:
        """Whether invocations can be resumed."""
