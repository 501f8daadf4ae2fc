"""The base of every agent."""

from mortise_kernel.contracts.agent import BaseAgent, BaseAgentState

__all__ = ["BaseAgent", "BaseAgentState"]
