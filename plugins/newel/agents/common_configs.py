"""How an agent file refers to agents and to code."""

from newel.files import AgentRefConfig, ArgumentConfig, CodeConfig

__all__ = ["AgentRefConfig", "ArgumentConfig", "CodeConfig"]
