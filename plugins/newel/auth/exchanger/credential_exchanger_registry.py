"""CredentialExchangerRegistry: which exchanger serves a type of credential."""

from __future__ import annotations

from newel.auth.exchanger.base_credential_exchanger import BaseCredentialExchanger
from newel_types import AuthCredentialTypes


class CredentialExchangerRegistry:
    """Exchangers by type of credential; a later registration replaces an earlier one."""

    def __init__(self) -> None:
        self._exchangers: dict[AuthCredentialTypes, BaseCredentialExchanger] = {}

    def register(self, credential_type: AuthCredentialTypes, exchanger_instance: BaseCredentialExchanger) -> None:
        """Let `exchanger_instance` serve a type."""
        self._exchangers[credential_type] = exchanger_instance

    def get_exchanger(self, credential_type: AuthCredentialTypes) -> BaseCredentialExchanger | None:
        """The exchanger of a type, or None."""
        return self._exchangers.get(credential_type)
