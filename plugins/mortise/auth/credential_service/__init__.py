"""Credential stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mortise_kernel.lazy import lazy_exports

if TYPE_CHECKING:
    from mortise.auth.credential_service.encrypted_file_credential_service import (
        EncryptedFileCredentialService as EncryptedFileCredentialService,
    )
    from mortise.auth.credential_service.in_memory_credential_service import (
        InMemoryCredentialService as InMemoryCredentialService,
    )
    from mortise_kernel.contracts.services import BaseCredentialService as BaseCredentialService

_WHERE = {
    "BaseCredentialService": "mortise_kernel.contracts.services",
    "EncryptedFileCredentialService": "mortise.auth.credential_service.encrypted_file_credential_service",
    "InMemoryCredentialService": "mortise.auth.credential_service.in_memory_credential_service",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
