"""Exchangers: from what a user or an app brings to what a service takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mortise_kernel.lazy import lazy_exports

if TYPE_CHECKING:
    from mortise.auth.errors import CredentialExchangeError as CredentialExchangeError
    from mortise.auth.exchanger.base_credential_exchanger import BaseCredentialExchanger as BaseCredentialExchanger
    from mortise.auth.exchanger.base_credential_exchanger import ExchangeResult as ExchangeResult

_WHERE = {
    "BaseCredentialExchanger": "mortise.auth.exchanger.base_credential_exchanger",
    "CredentialExchangeError": "mortise.auth.errors",
    "ExchangeResult": "mortise.auth.exchanger.base_credential_exchanger",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
