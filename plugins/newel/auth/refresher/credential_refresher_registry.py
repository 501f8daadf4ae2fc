"""CredentialRefresherRegistry: which refresher serves a type of credential."""

from __future__ import annotations

from newel.auth.refresher.base_credential_refresher import BaseCredentialRefresher
from newel_types import AuthCredentialTypes


class CredentialRefresherRegistry:
    """Refreshers by type of credential; a later registration replaces an earlier one."""

    def __init__(self) -> None:
        self._refreshers: dict[AuthCredentialTypes, BaseCredentialRefresher] = {}

    def register(self, credential_type: AuthCredentialTypes, refresher_instance: BaseCredentialRefresher) -> None:
        """Let `refresher_instance` serve a type."""
        self._refreshers[credential_type] = refresher_instance

    def get_refresher(self, credential_type: AuthCredentialTypes) -> BaseCredentialRefresher | None:
        """The refresher of a type, or None."""
        return self._refreshers.get(credential_type)
