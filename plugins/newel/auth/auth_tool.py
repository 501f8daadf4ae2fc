"""The public import path of the requests for credentials."""

from newel_types import AuthConfig, AuthToolArguments

__all__ = ["AuthConfig", "AuthToolArguments"]
