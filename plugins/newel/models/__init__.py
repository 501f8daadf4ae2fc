"""Models: the contract, the registry, and the providers that newel ships."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.models.contract import BaseLlm as BaseLlm
    from newel.models.contract import BaseLlmConnection as BaseLlmConnection
    from newel.models.contract import LiveCapabilities as LiveCapabilities
    from newel.models.contract import ModelCapabilities as ModelCapabilities
    from newel.models.google.gemini import Gemini as Gemini
    from newel.models.kinds import model_of as model_of
    from newel.models.llm_request import LlmRequest as LlmRequest
    from newel.models.policies.chain import policed as policed
    from newel.models.policies.chain import surround as surround
    from newel.models.registry import LLMRegistry as LLMRegistry
    from newel_kernel import LlmResponse as LlmResponse

_WHERE = {
    "BaseLlm": "newel.models.contract",
    "BaseLlmConnection": "newel.models.contract",
    "Gemini": "newel.models.google.gemini",
    "LLMRegistry": "newel.models.registry",
    "LlmRequest": "newel.models.llm_request",
    "LlmResponse": "newel_kernel",
    "LiveCapabilities": "newel.models.contract",
    "ModelCapabilities": "newel.models.contract",
    # Agents import these with their first request.
    "model_of": "newel.models.kinds",
    "policed": "newel.models.policies.chain",
    "surround": "newel.models.policies.chain",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
