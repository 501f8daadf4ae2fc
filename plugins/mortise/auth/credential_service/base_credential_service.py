"""The contract of the credential stores."""

from mortise_kernel.contracts.services import BaseCredentialService

__all__ = ["BaseCredentialService"]
