"""OpenAILlm, by its public name."""

from newel.models.openai.chat.model import OpenAILlm

__all__ = ["OpenAILlm"]
