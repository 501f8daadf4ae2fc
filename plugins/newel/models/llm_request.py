"""LlmRequest, by its released name."""

from newel_kernel.contracts.request import LlmRequest

__all__ = ["LlmRequest"]
