"""BaseCredentialExchanger: turns a credential into one that can be used, a code into a token for one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from newel.auth.errors import CredentialExchangeError
from newel_types import AuthCredential, AuthScheme

__all__ = ["BaseCredentialExchanger", "CredentialExchangeError", "ExchangeResult"]


class ExchangeResult(NamedTuple):
    """The credential, and whether it is another one than before."""

    credential: AuthCredential
    was_exchanged: bool


class BaseCredentialExchanger(ABC):
    """Exchanges credentials of a type. The credential that it gets stays as it is."""

    @abstractmethod
    async def exchange(self, auth_credential: AuthCredential, auth_scheme: AuthScheme | None = None) -> ExchangeResult:
        """The usable credential; one that is usable already comes back as it is.

        Raises CredentialExchangeError, without a secret in its text.
        """
