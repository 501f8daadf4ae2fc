"""BaseAuthProvider: where credentials come from besides the user, a secret manager for one."""

from __future__ import annotations

from abc import ABC, abstractmethod

from newel_kernel import CallbackContext
from newel_types import AuthConfig, AuthCredential
from newel_types import AuthScheme


class BaseAuthProvider(ABC):
    """Gives credentials for the schemes that it is registered for. Subclass it, or register it by a plugin."""

    @property
    def supported_auth_schemes(self) -> tuple[type[AuthScheme], ...]:
        """The schemes that ``registry.register(provider)`` registers it for; a class attribute will do."""
        return ()

    @abstractmethod
    async def get_auth_credential(self, auth_config: AuthConfig, context: CallbackContext) -> AuthCredential | None:
        """The credential for `auth_config`, ready to be used, or None: then the next one is asked.

        An OAuth2 credential without a token and with an `auth_uri` asks the user to consent there.
        """
