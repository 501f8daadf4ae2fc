"""The contract of the credential stores."""

from newel_kernel.contracts.services import BaseCredentialService

__all__ = ["BaseCredentialService"]
