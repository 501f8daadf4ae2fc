"""Anthropic: Claude models through Anthropic's Messages API or Vertex AI, with the anthropic SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.models.anthropic.model import AnthropicLlm as AnthropicLlm
    from newel.models.anthropic.model import Claude as Claude

_WHERE = {
    "AnthropicLlm": "newel.models.anthropic.model",
    "Claude": "newel.models.anthropic.model",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
