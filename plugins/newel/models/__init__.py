"""Models: the contract, the registry, and the providers that newel ships."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_kernel.lazy import lazy_exports

if TYPE_CHECKING:
    from newel.models.google.gemini import Gemini as Gemini
    from newel_kernel.contracts.model import BaseLlm as BaseLlm
    from newel_kernel.contracts.model import BaseLlmConnection as BaseLlmConnection
    from newel_kernel.contracts.model import ModelCapabilities as ModelCapabilities
    from newel_kernel.contracts.request import LlmRequest as LlmRequest
    from newel_kernel.contracts.response import LlmResponse as LlmResponse

_WHERE = {
    "BaseLlm": "newel_kernel.contracts.model",
    "BaseLlmConnection": "newel_kernel.contracts.model",
    "Gemini": "newel.models.google.gemini",
    "LlmRequest": "newel_kernel.contracts.request",
    "LlmResponse": "newel_kernel.contracts.response",
    "ModelCapabilities": "newel_kernel.contracts.model",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
