"""What a model answers."""

from newel_kernel.contracts.response import LlmResponse

__all__ = ["LlmResponse"]
