"""OpenAIResponsesLlm, by its public name."""

from newel.models.openai.responses.model import OpenAIResponsesLlm

__all__ = ["OpenAIResponsesLlm"]
