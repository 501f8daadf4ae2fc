"""The state of a session."""

from mortise_kernel.state import State

__all__ = ["State"]
