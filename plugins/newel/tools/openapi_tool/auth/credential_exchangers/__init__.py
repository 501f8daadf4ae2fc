"""The released package of exchangers of credentials; the code is in `newel.openapi`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.openapi.exchangers import AutoAuthCredentialExchanger as AutoAuthCredentialExchanger
    from newel.openapi.exchangers import BaseAuthCredentialExchanger as BaseAuthCredentialExchanger
    from newel.openapi.exchangers import OAuth2CredentialExchanger as OAuth2CredentialExchanger
    from newel.openapi.exchangers import ServiceAccountCredentialExchanger as ServiceAccountCredentialExchanger

_WHERE = {
    "AutoAuthCredentialExchanger": "newel.openapi.exchangers",
    "BaseAuthCredentialExchanger": "newel.openapi.exchangers",
    "OAuth2CredentialExchanger": "newel.openapi.exchangers",
    "ServiceAccountCredentialExchanger": "newel.openapi.exchangers",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
