"""Models: the contract, the registry, and the providers that mortise ships."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mortise_kernel.lazy import lazy_exports

if TYPE_CHECKING:
    from mortise.models.google_llm import Gemini as Gemini
    from mortise_kernel.contracts.model import BaseLlm as BaseLlm
    from mortise_kernel.contracts.model import BaseLlmConnection as BaseLlmConnection
    from mortise_kernel.contracts.model import ModelCapabilities as ModelCapabilities
    from mortise_kernel.contracts.request import LlmRequest as LlmRequest
    from mortise_kernel.contracts.response import LlmResponse as LlmResponse

_WHERE = {
    "BaseLlm": "mortise_kernel.contracts.model",
    "BaseLlmConnection": "mortise_kernel.contracts.model",
    "Gemini": "mortise.models.google_llm",
    "LlmRequest": "mortise_kernel.contracts.request",
    "LlmResponse": "mortise_kernel.contracts.response",
    "ModelCapabilities": "mortise_kernel.contracts.model",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
