"""The plugin of Gemini models: ``gemini-2.5-flash``, ``gemini:NAME``, and resource names of Vertex AI."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from pydantic import BaseModel

from newel.models import gemini_settings
from newel.models.kinds import ModelProvider
from newel_kernel import hookimpl


class Settings(BaseModel, extra="forbid"):
    """Settings of Gemini. The key is none of them: it comes from the environment."""

    #: The model of agents that name none.
    default_model: str = gemini_settings.DEFAULT_MODEL
    base_url: str | None = None
    #: True: Vertex AI, False: the Gemini API; unset: as the environment says.
    vertexai: bool | None = None


@hookimpl
def register_settings() -> type[BaseModel]:
    """The settings."""
    return Settings


@hookimpl
def register_model_providers(settings: Mapping[str, Any]) -> list[ModelProvider]:
    """The scheme ``gemini`` and the names of Gemini models; the SDK loads at the first call."""
    chosen: Settings = settings["gemini"]

    def create(address: str) -> Any:
        gemini = import_module("newel.models.google_llm").Gemini
        model = gemini(
            model=address.removeprefix("gemini:") or chosen.default_model,
            base_url=chosen.base_url,
            vertexai=chosen.vertexai,
        )
        model.check()
        return model

    def default() -> str | None:
        vertex = gemini_settings.uses_vertex(chosen.default_model, chosen.vertexai)
        return chosen.default_model if gemini_settings.is_configured(vertex) else None

    return [
        ModelProvider(
            name="gemini",
            create=create,
            patterns=gemini_settings.PATTERNS,
            default=default,
            description="Gemini, through the google-genai SDK",
        )
    ]
