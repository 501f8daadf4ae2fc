"""Refreshers: new tokens for expired ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mortise_kernel.lazy import lazy_exports

if TYPE_CHECKING:
    from mortise.auth.errors import CredentialRefresherError as CredentialRefresherError
    from mortise.auth.refresher.base_credential_refresher import BaseCredentialRefresher as BaseCredentialRefresher

_WHERE = {
    "BaseCredentialRefresher": "mortise.auth.refresher.base_credential_refresher",
    "CredentialRefresherError": "mortise.auth.errors",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
