"""The contract of a credential store."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from newel.auth.credential_service import renewal

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

    def renewal(self, auth_config: AuthConfig, callback_context: Any) -> AbstractAsyncContextManager[None]:
        """The sole right to renew the credential of `auth_config`: held while it is read, renewed and saved.

        It must exclude everyone who shares the store: here, all loops and threads of this process; a store that
        processes or machines share overrides it. Waiting must end (RenewalWaitError), and an owner that dies must not
        keep the right.
        """
        session = callback_context.session
        return renewal.shared.hold((session.app_name, session.user_id, auth_config.credential_key or ""))
