"""LlmResponse, by its released name."""

from newel_kernel.contracts.response import LlmResponse

__all__ = ["LlmResponse"]
