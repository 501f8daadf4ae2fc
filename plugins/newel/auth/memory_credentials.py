"""The plugin of credentials in this process: the URI ``memory:``."""

from __future__ import annotations

from newel.auth import credential_service
from newel.auth.kinds import CredentialBackend
from newel_kernel import hookimpl


@hookimpl
def register_credential_backends() -> list[CredentialBackend]:
    """The scheme ``memory``; each opening is a separate store."""
    return [CredentialBackend(name="memory", open=lambda uri: credential_service.InMemoryCredentialService())]
