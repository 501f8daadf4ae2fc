"""BaseCredentialExchanger: turns a credential into one that can be used, a code into a token for one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from newel.auth.errors import CredentialExchangeError
from newel_types import AuthCredential
from newel_types import AuthScheme

__all__ = ["BaseCredentialExchanger", "CredentialExchangeError", "ExchangeResult"]


class ExchangeResult(NamedTuple):
    """The credential, and whether it is another one than was given."""

    credential: AuthCredential
    was_exchanged: bool


class BaseCredentialExchanger(ABC):
    """Exchanges credentials of a type. What it is given is not changed."""

    @abstractmethod
    async def exchange(
        self, auth_credential: AuthCredential, auth_scheme: AuthScheme | None = None
    ) -> ExchangeResult:
        """The usable credential; raises CredentialExchangeError, without a secret in its text."""
