"""The contract of a credential store."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from newel_types import AuthConfig, AuthCredential


class BaseCredentialService(ABC):
    """A store of exchanged credentials."""

    @abstractmethod
    async def load_credential(self, auth_config: AuthConfig, callback_context: Any) -> AuthCredential | None:
        """The credential saved for `auth_config`, or None."""

    @abstractmethod
    async def save_credential(self, auth_config: AuthConfig, callback_context: Any) -> None:
        """Save the exchanged credential of `auth_config`."""
