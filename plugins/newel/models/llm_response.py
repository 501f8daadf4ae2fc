"""LlmResponse, by its released name."""

from newel_kernel import LlmResponse

__all__ = ["LlmResponse"]
