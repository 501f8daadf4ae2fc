"""Models of the many services that LiteLLM reaches, through the litellm package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.models.litellm.model import LiteLlm as LiteLlm

__getattr__, __dir__ = lazy_exports(__name__, {"LiteLlm": "newel.models.litellm.model"})
