"""The context of callbacks."""

from mortise_kernel.context import CallbackContext

__all__ = ["CallbackContext"]
