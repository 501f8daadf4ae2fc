"""The released module of what exchangers have in common; the code is in `newel.openapi`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.openapi.exchangers import AuthCredentialMissingError as AuthCredentialMissingError
    from newel.openapi.exchangers import BaseAuthCredentialExchanger as BaseAuthCredentialExchanger

_WHERE = {
    "AuthCredentialMissingError": "newel.openapi.exchangers",
    "BaseAuthCredentialExchanger": "newel.openapi.exchangers",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
