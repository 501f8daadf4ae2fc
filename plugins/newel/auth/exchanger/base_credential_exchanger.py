"""BaseCredentialExchanger: turns a credential into a usable one, for example a code into a token."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from newel.auth.errors import CredentialExchangeError
from newel_types import AuthCredential, AuthScheme

__all__ = ["BaseCredentialExchanger", "CredentialExchangeError", "ExchangeResult"]


class ExchangeResult(NamedTuple):
    """The credential, and whether it differs from the given one."""

    credential: AuthCredential
    was_exchanged: bool


class BaseCredentialExchanger(ABC):
    """Exchanges credentials of a type. The given credential is not changed."""

    @abstractmethod
    async def exchange(self, auth_credential: AuthCredential, auth_scheme: AuthScheme | None = None) -> ExchangeResult:
        """The usable credential; an already usable one is returned unchanged.

        Raises CredentialExchangeError, without a secret in its text.
        """
