"""The state of a session."""

from newel_kernel import State

__all__ = ["State"]
