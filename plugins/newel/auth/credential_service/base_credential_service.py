"""The contract of a credential store."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any


class BaseCredentialService(ABC):
    """A store of exchanged credentials."""

    @abstractmethod
    async def load_credential(self, auth_config: Any, callback_context: Any) -> Any:
        """The credential saved for `auth_config`, or None."""

    @abstractmethod
    async def save_credential(self, auth_config: Any, callback_context: Any) -> None:
        """Save the exchanged credential of `auth_config`."""
