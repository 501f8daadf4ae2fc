"""BaseAuthProvider: a source of credentials other than the user, such as a secret manager."""

from __future__ import annotations

from abc import ABC, abstractmethod

from newel_kernel import CallbackContext
from newel_types import AuthConfig, AuthCredential, AuthScheme


class BaseAuthProvider(ABC):
    """Gives credentials for the schemes that it is registered for. Subclass it, or register it by a plugin."""

    @property
    def supported_auth_schemes(self) -> tuple[type[AuthScheme], ...]:
        """The schemes that ``registry.register(provider)`` registers it for; a class attribute will do."""
        return ()

    @abstractmethod
    async def get_auth_credential(self, auth_config: AuthConfig, context: CallbackContext) -> AuthCredential | None:
        """The credential for `auth_config`, ready for use, or None: then the next provider is asked.

        An OAuth2 credential without a token and with an `auth_uri` asks the user to consent there.
        """
