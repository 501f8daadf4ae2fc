"""The released module of the exchanger that chooses; the code is in `newel.openapi`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.openapi.exchangers import AutoAuthCredentialExchanger as AutoAuthCredentialExchanger

_WHERE = {
    "AutoAuthCredentialExchanger": "newel.openapi.exchangers",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
