"""AnthropicLlm and Claude, by their released names."""

from newel.models.anthropic.model import AnthropicLlm, Claude

__all__ = ["AnthropicLlm", "Claude"]
