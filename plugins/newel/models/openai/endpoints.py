"""Endpoints: models of servers that speak one of OpenAI's protocols."""

from __future__ import annotations

from newel.models.openai.chat.model import OpenAILlm
from newel.models.openai.model import OpenAIModel
from newel.models.openai.profiles import Profile
from newel.models.openai.responses.model import OpenAIResponsesLlm
from newel_kernel import ModelError


def model_of(endpoint: str, profile: Profile, name: str) -> OpenAIModel:
    """The model `name` of an endpoint."""
    if not name:
        raise ModelError(f"the endpoint {endpoint!r} has no default model: write {f'{endpoint}:NAME'!r}")
    kind = OpenAIResponsesLlm if profile.protocol == "responses" else OpenAILlm
    model = kind(model=name, endpoint=endpoint, profile=profile)
    model.check()
    return model
