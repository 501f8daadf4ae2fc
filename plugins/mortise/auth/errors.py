"""The errors of credentials. Their texts name hosts, keys and error codes, and never a secret."""

from __future__ import annotations

from mortise_kernel.errors import ConfigurationError, MortiseError


class CredentialError(MortiseError):
    """A credential cannot be had."""


class CredentialExchangeError(CredentialError):
    """A service gave no token for a credential; `code` is its error code, where it sent one."""

    def __init__(self, message: str, code: str | None = None) -> None:
        self.code = code
        super().__init__(message)


class CredentialRefresherError(CredentialExchangeError):
    """A service gave no new token for an expired one."""


class AuthConfigError(ConfigurationError):
    """A scheme and a credential that do not fit together, or an answer that is none."""


class CredentialStoreError(CredentialError):
    """The stored credentials cannot be read or written."""
