"""The context of callbacks."""

from newel.contexts.context import CallbackContext

__all__ = ["CallbackContext"]
