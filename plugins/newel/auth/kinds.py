"""The kinds of the credentials room: stores of credentials, and providers of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from newel.auth.credential_service.base_credential_service import BaseCredentialService
from newel_compose import Backend, Factory
from newel_kernel import Settings, hookspec


class CredentialBackend(Backend[BaseCredentialService]):
    """Opens a credential store from a URI of the scheme `name`."""

    service: ClassVar[str] = "credential"


class AuthProvider(Factory):
    """`create` gives a provider of credentials for one kind of auth scheme."""


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
