"""The context of callbacks."""

from newel.agents.context import CallbackContext

__all__ = ["CallbackContext"]
