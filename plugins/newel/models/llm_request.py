"""What a model is asked."""

from newel_kernel import LlmRequest

__all__ = ["LlmRequest"]
