"""The base of every planner."""

from newel_kernel.contracts.planner import BasePlanner

__all__ = ["BasePlanner"]
