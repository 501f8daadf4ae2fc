"""What a model is asked."""

from newel_kernel.contracts.request import LlmRequest

__all__ = ["LlmRequest"]
