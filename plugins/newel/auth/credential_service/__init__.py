"""Credential stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.auth.credential_service.encrypted_file_credential_service import (
        EncryptedFileCredentialService as EncryptedFileCredentialService,
    )
    from newel.auth.credential_service.in_memory_credential_service import (
        InMemoryCredentialService as InMemoryCredentialService,
    )
    from newel.auth.credential_service.base_credential_service import BaseCredentialService as BaseCredentialService

_WHERE = {
    "BaseCredentialService": "newel.auth.credential_service.base_credential_service",
    "EncryptedFileCredentialService": "newel.auth.credential_service.encrypted_file_credential_service",
    "InMemoryCredentialService": "newel.auth.credential_service.in_memory_credential_service",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
