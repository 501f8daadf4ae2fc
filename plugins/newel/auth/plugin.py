"""The plugin of the kinds that store and provide credentials."""

from __future__ import annotations

from typing import Any

from newel.auth import kinds
from newel_kernel import Kind, hookimpl


@hookimpl
def register_kinds() -> list[Kind[Any]]:
    """The stores and the providers of credentials."""
    return [
        Kind(kinds.CredentialBackend, kinds.register_credential_backends),
        Kind(kinds.AuthProvider, kinds.register_auth_providers),
    ]
