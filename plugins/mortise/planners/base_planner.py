"""The base of every planner."""

from mortise_kernel.contracts.planner import BasePlanner

__all__ = ["BasePlanner"]
