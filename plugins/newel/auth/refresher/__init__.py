"""Refreshers: new tokens for expired ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.auth.errors import CredentialRefresherError as CredentialRefresherError
    from newel.auth.refresher.base_credential_refresher import BaseCredentialRefresher as BaseCredentialRefresher
    from newel.auth.refresher.oauth2_credential_refresher import OAuth2CredentialRefresher as OAuth2CredentialRefresher

_WHERE = {
    "BaseCredentialRefresher": "newel.auth.refresher.base_credential_refresher",
    "CredentialRefresherError": "newel.auth.errors",
    "OAuth2CredentialRefresher": "newel.auth.refresher.oauth2_credential_refresher",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
