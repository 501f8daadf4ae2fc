"""The contract of the credential stores."""


__all__ = ["BaseCredentialService"]
