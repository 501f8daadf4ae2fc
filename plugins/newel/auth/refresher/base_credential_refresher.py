"""BaseCredentialRefresher: renews credentials that expire."""

from __future__ import annotations

from abc import ABC, abstractmethod

from newel.auth.errors import CredentialRefresherError
from newel_types import AuthCredential, AuthScheme

__all__ = ["BaseCredentialRefresher", "CredentialRefresherError"]


class BaseCredentialRefresher(ABC):
    """Refreshes credentials of a type. The given credential is not changed."""

    @abstractmethod
    async def is_refresh_needed(self, auth_credential: AuthCredential, auth_scheme: AuthScheme | None = None) -> bool:
        """Whether the credential is about to expire."""

    @abstractmethod
    async def refresh(self, auth_credential: AuthCredential, auth_scheme: AuthScheme | None = None) -> AuthCredential:
        """The renewed credential; raises CredentialRefresherError, without a secret in its text."""
