"""The plugin of the kinds that store, provide, exchange and renew credentials."""

from __future__ import annotations

from newel.auth import kinds
from newel_kernel import Descriptor, Kind, hookimpl


@hookimpl
def register_kinds() -> list[Kind[Descriptor]]:
    """The stores, the providers, the exchangers and the refreshers of credentials."""
    return [
        Kind(kinds.CredentialBackend, kinds.register_credential_backends),
        Kind(kinds.AuthProvider, kinds.register_auth_providers, order="auth_providers", open_ended=True),
        Kind(kinds.CredentialExchanger, kinds.register_credential_exchangers),
        Kind(kinds.CredentialRefresher, kinds.register_credential_refreshers),
    ]
