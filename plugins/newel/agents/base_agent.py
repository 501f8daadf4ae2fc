"""The base of every agent."""

from newel_kernel import BaseAgent, BaseAgentState

__all__ = ["BaseAgent", "BaseAgentState"]
