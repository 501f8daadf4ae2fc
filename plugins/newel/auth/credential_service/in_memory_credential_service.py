"""InMemoryCredentialService: credentials in this process; they end with the process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel.auth.credential_service.base_credential_service import BaseCredentialService
from newel.auth.credential_service.expiry import is_over
from newel.contexts.context import CallbackContext
from newel_types import deferred

if TYPE_CHECKING:
    from newel_types import AuthConfig, AuthCredential

#: Loads with the first credential.
_remember = deferred("newel.auth.secrecy", "remember")


class InMemoryCredentialService(BaseCredentialService):
    """Credentials by app, user and credential_key."""

    def __init__(self) -> None:
        self._credentials: dict[tuple[str, str, str], AuthCredential] = {}

    async def load_credential(
        self, auth_config: AuthConfig, callback_context: CallbackContext
    ) -> AuthCredential | None:
        """The user's credential, or None."""
        stored = self._credentials.get(place_of(auth_config, callback_context))
        if stored is None:
            return None
        _remember()(callback_context, stored)
        return stored.model_copy(deep=True)

    async def save_credential(self, auth_config: AuthConfig, callback_context: CallbackContext) -> None:
        """Keep the exchanged credential; None deletes the stored one."""
        place, credential = place_of(auth_config, callback_context), auth_config.exchanged_auth_credential
        self._credentials = {one: value for one, value in self._credentials.items() if not is_over(value)}
        if credential is None:
            self._credentials.pop(place, None)
        else:
            self._credentials[place] = credential.model_copy(deep=True)


def place_of(auth_config: AuthConfig, context: CallbackContext) -> tuple[str, str, str]:
    """The owner and the key of a credential: app, user, credential_key."""
    session = context.session
    return session.app_name, session.user_id, auth_config.credential_key or ""
