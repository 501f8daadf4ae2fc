"""LlmRequest, by its released name."""

from newel_kernel import LlmRequest

__all__ = ["LlmRequest"]
