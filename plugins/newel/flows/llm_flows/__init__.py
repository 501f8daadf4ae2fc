"""The released names of an LLM agent's flow: views of the composed chains, and what deals with function calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.flows.llm_flows._base_llm_processor import BaseLlmRequestProcessor as BaseLlmRequestProcessor
    from newel.flows.llm_flows._base_llm_processor import BaseLlmResponseProcessor as BaseLlmResponseProcessor

_WHERE = dict.fromkeys(
    ["BaseLlmRequestProcessor", "BaseLlmResponseProcessor"], "newel.flows.llm_flows._base_llm_processor"
)

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
