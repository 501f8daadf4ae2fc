"""LiteLlm, by its released name."""

from newel.models.litellm.model import LiteLlm

__all__ = ["LiteLlm"]
