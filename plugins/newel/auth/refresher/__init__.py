"""Refreshers: new tokens for expired ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.auth.errors import CredentialRefresherError as CredentialRefresherError
    from newel.auth.refresher.base_credential_refresher import BaseCredentialRefresher as BaseCredentialRefresher

_WHERE = {
    "BaseCredentialRefresher": "newel.auth.refresher.base_credential_refresher",
    "CredentialRefresherError": "newel.auth.errors",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
