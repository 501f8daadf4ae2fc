"""The context of callbacks."""

from newel_kernel.context import CallbackContext

__all__ = ["CallbackContext"]
