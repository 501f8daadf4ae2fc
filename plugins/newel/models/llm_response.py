"""What a model answers."""

from newel_kernel import LlmResponse

__all__ = ["LlmResponse"]
