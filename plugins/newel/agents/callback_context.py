"""The context of callbacks."""

from newel_kernel import CallbackContext

__all__ = ["CallbackContext"]
