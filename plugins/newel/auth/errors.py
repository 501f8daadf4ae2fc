"""The errors of credentials. Their texts name hosts, keys and error codes, and never a secret."""

from __future__ import annotations

from newel_kernel import ConfigurationError, NewelError


class CredentialError(NewelError):
    """A credential cannot be obtained."""


#: The error codes that a new consent of the user can fix.
_USERS_MATTER = frozenset(
    {
        "access_denied",
        "consent_required",
        "interaction_required",
        "invalid_grant",
        "invalid_token",
        "login_required",
        "no_refresh_token",
    }
)


class CredentialExchangeError(CredentialError):
    """A service gave no token for a credential; `code` is its error code, if it sent one."""

    def __init__(self, message: str, code: str | None = None) -> None:
        self.code = code
        super().__init__(message)

    @property
    def user_can_help(self) -> bool:
        """Whether asking the user again can help; else the service or the app's own client is at fault."""
        return self.code in _USERS_MATTER


class CredentialRefresherError(CredentialExchangeError):
    """A service gave no new token for an expired one."""


class AuthConfigError(ConfigurationError):
    """A scheme and a credential that do not fit together, or an invalid answer."""


class CredentialStoreError(CredentialError):
    """The stored credentials cannot be read or written."""


class RenewalWaitError(CredentialError):
    """Another caller renews the credential, and has not finished in time."""
