"""The state of a session."""

from newel_kernel.state import State

__all__ = ["State"]
