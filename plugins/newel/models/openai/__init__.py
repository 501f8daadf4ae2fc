"""OpenAI's models, and those of servers that speak its protocols, through the openai SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.models.openai.chat.model import OpenAILlm as OpenAILlm
    from newel.models.openai.endpoints import model_of as model_of
    from newel.models.openai.profiles import Profile as Profile
    from newel.models.openai.responses.model import OpenAIResponsesLlm as OpenAIResponsesLlm

_WHERE = {
    "OpenAILlm": "newel.models.openai.chat.model",
    "OpenAIResponsesLlm": "newel.models.openai.responses.model",
    "Profile": "newel.models.openai.profiles",
    "model_of": "newel.models.openai.endpoints",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
