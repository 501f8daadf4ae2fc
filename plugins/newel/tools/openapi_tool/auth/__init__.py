"""The released package of the auth helpers."""

from newel.tools.openapi_tool.auth import auth_helpers as auth_helpers

__all__ = ["auth_helpers"]
