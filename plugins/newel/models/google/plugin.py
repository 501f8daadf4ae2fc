"""The plugin of Gemini models: ``gemini-3.5-flash-lite``, ``gemini:NAME``, and resource names of Vertex AI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from newel.models import google
from newel.models.google.backend import DEFAULT_MODEL, PATTERNS, is_configured, is_vertex
from newel.models.kinds import ModelProvider
from newel.models.live import FRAME_BYTES
from newel_kernel import hookimpl

if TYPE_CHECKING:
    from newel.models.contract import BaseLlm


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of Gemini. The key is not among them: it comes from the environment."""

    #: The model of agents that name none.
    default_model: str = DEFAULT_MODEL
    #: The API's address; by default that of GOOGLE_GEMINI_BASE_URL, or the vendor's.
    base_url: str | None = None
    #: True: Vertex AI, False: the Gemini API; unset: as the environment says.
    vertexai: bool | None = None
    #: On Vertex AI: the project whose models these are; unset: as the model's name or the environment says.
    project: str | None = None
    #: Likewise the location of the models (``us-central1``).
    location: str | None = None
    #: How many bytes a message of a live connection may have.
    frame_bytes: int = Field(default=FRAME_BYTES, gt=0)
    #: If a live session can be resumed, find out by pings which input has arrived.
    confirm_input: bool = True


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_model_providers(settings: Mapping[str, Settings]) -> list[ModelProvider]:
    """The scheme ``gemini`` and the names of Gemini models; the SDK loads at the first call."""
    options = settings["gemini"]

    def create(address: str) -> BaseLlm:
        name = address.removeprefix("gemini:") or options.default_model
        model = google.Gemini(
            model=name,
            base_url=options.base_url,
            vertexai=options.vertexai,
            frame_bytes=options.frame_bytes,
            confirm_input=options.confirm_input,
            project=options.project,
            location=options.location,
        )
        model.check()
        return model

    def default() -> str | None:
        vertex = is_vertex(options.default_model, options.vertexai)
        return options.default_model if is_configured(vertex) or (vertex and options.project) else None

    return [
        ModelProvider(
            name="gemini",
            create=create,
            patterns=PATTERNS,
            default=default,
            description="Gemini, through the google-genai SDK",
        )
    ]
