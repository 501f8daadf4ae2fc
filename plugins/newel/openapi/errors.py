"""The errors of OpenAPI documents and of the arguments of their operations."""

from __future__ import annotations

from newel_kernel import ConfigurationError, NewelError


class DocumentError(ConfigurationError):
    """An OpenAPI document, or an operation in it, cannot be used; the message says where and why."""


class ArgumentError(NewelError, ValueError):
    """The arguments of a call cannot be sent; the message is for the model."""
