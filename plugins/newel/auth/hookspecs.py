"""How plugins provide what this room declares in `kinds`."""

from __future__ import annotations

from collections.abc import Sequence

from newel.auth.kinds import AuthProvider, CredentialBackend, CredentialExchanger, CredentialRefresher
from newel_kernel import Settings, hookspec


@hookspec
def register_credential_backends(settings: Settings) -> Sequence[CredentialBackend]:
    """Credential stores. Opens a credential store from a URI of its scheme.

    >>> def open_vault(uri):
    ...     raise NotImplementedError(uri)
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_credential_backends(self):
    ...         return [CredentialBackend(name="vault", open=open_vault)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.registry.find(CredentialBackend, "vault").name
    'vault'
    """
    return ()


@hookspec
def register_auth_providers(settings: Settings) -> Sequence[AuthProvider]:
    """Providers of credentials. Makes a provider that resolves credentials of one kind of auth scheme.

    >>> def secret_manager():
    ...     raise NotImplementedError
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_auth_providers(self):
    ...         return [AuthProvider(name="secrets", create=secret_manager)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.registry.find(AuthProvider, "secrets").name
    'secrets'
    """
    return ()


@hookspec
def register_credential_exchangers(settings: Settings) -> Sequence[CredentialExchanger]:
    """Exchangers of credentials. Makes what turns a credential of one type into one that a tool can use.

    The SDK is imported in `create`, never in the plugin.

    >>> from newel.auth.exchanger import BaseCredentialExchanger, ExchangeResult
    >>> class Badges(BaseCredentialExchanger):
    ...     async def exchange(self, auth_credential, auth_scheme=None):
    ...         return ExchangeResult(auth_credential, False)
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_credential_exchangers(self):
    ...         return [CredentialExchanger(name="api_key_exchanger", create=Badges)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> type(composed.registry.find(CredentialExchanger, "api_key_exchanger").create()).__name__
    'Badges'
    """
    return ()


@hookspec
def register_credential_refreshers(settings: Settings) -> Sequence[CredentialRefresher]:
    """Refreshers of credentials. Makes what renews credentials of one type before they expire.

    The SDK is imported in `create`, never in the plugin.

    >>> from newel.auth.refresher import BaseCredentialRefresher
    >>> class Rotation(BaseCredentialRefresher):
    ...     async def is_refresh_needed(self, auth_credential, auth_scheme=None):
    ...         return False
    ...     async def refresh(self, auth_credential, auth_scheme=None):
    ...         return auth_credential
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_credential_refreshers(self):
    ...         return [CredentialRefresher(name="api_key_refresher", create=Rotation)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> type(composed.registry.find(CredentialRefresher, "api_key_refresher").create()).__name__
    'Rotation'
    """
    return ()
