"""The base of every agent."""

from newel_kernel.contracts.agent import BaseAgent, BaseAgentState

__all__ = ["BaseAgent", "BaseAgentState"]
