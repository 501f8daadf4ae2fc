"""The base of every planner."""


__all__ = ["BasePlanner"]
