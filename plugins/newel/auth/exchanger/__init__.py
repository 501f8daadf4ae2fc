"""Exchangers: they turn the credential of a user or an app into one that a service accepts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.auth.errors import CredentialExchangeError as CredentialExchangeError
    from newel.auth.exchanger.base_credential_exchanger import BaseCredentialExchanger as BaseCredentialExchanger
    from newel.auth.exchanger.base_credential_exchanger import ExchangeResult as ExchangeResult
    from newel.auth.exchanger.oauth2_credential_exchanger import OAuth2CredentialExchanger as OAuth2CredentialExchanger
    from newel.auth.exchanger.service_account_credential_exchanger import (
        ServiceAccountCredentialExchanger as ServiceAccountCredentialExchanger,
    )

_WHERE = {
    "BaseCredentialExchanger": "newel.auth.exchanger.base_credential_exchanger",
    "CredentialExchangeError": "newel.auth.errors",
    "ExchangeResult": "newel.auth.exchanger.base_credential_exchanger",
    "OAuth2CredentialExchanger": "newel.auth.exchanger.oauth2_credential_exchanger",
    "ServiceAccountCredentialExchanger": "newel.auth.exchanger.service_account_credential_exchanger",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
