"""What a model is asked."""

from mortise_kernel.contracts.request import LlmRequest

__all__ = ["LlmRequest"]
