"""The public import path of the requests for credentials."""

from newel_kernel.types.auth import AuthConfig, AuthToolArguments

__all__ = ["AuthConfig", "AuthToolArguments"]
