"""What a model answers."""

from mortise_kernel.contracts.response import LlmResponse

__all__ = ["LlmResponse"]
